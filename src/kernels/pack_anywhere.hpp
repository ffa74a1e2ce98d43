// The form of pack for runs that begin anywhere. Nothing is shifted: a run of the source lies in
// shared memory at the same distance from a multiple of 16 bytes as in global memory, so that it
// arrives in whole aligned vectors, by asynchronous copies. Strides of shared memory are congruent
// to those of the source, modulo 16, and where an element lies is still a sum over its indices.
//
//   source          ..|......RR|RRRRRRRR|RRR.....|..      vectors of 16 bytes
//   shared memory     |......RR|RRRRRRRR|RRR.....|        the same phase
//   destination       .DDD|DDDD|DDDD|DDDD|D..             aligned units of a few elements
//
// A lane writes the same unit of every run that it takes. From run to run only two things change:
// where the run lies in shared memory, and how many of its elements come before its first unit. A
// lane keeps the offsets of all elements that its unit can hold. Where that number changes, it
// selects those that the unit does hold; neighbours mostly do so together. Often it is the same in
// all runs of a lane. The elements before the
// first whole unit of a run and behind the last one follow one by one.
//
// A long run of the destination is a list of pieces: whole units and whole periods, so that a lane
// has the same offsets in all of them. A piece goes on to its run's end, and its units stop where
// the next piece begins; only a run, not a piece, has elements outside of units.
//
// Runs of the source may go backwards along some modes. Such a run is loaded from its lowest
// address on, and lies before its first element: the box has room for that in front.
#pragma once

#include <cstdint>

#include "kernels/casts.hpp"
#include "kernels/elements.hpp"
#include "kernels/pack_args.hpp"
#include "kernels/unaligned.hpp"

namespace cornerturn::kernels {

/// Bytes of the destination that a lane writes at once.
CT_HOST_DEVICE constexpr int pack_unit_bytes(int element_bytes) {
  return element_bytes == 1 ? 4 : element_bytes == 2 ? 8 : 16;
}

template <class Change>
struct PackAnywhere {
  using Src = typename Change::Src;
  using Dst = typename Change::Dst;
  static constexpr int size = static_cast<int>(sizeof(Dst));
  static constexpr int W = pack_unit_bytes(size) / size;  // elements of a unit
  using Unit = PackedWords<Dst, W>;
  static constexpr int threads = 512;  ///< at most
  static constexpr int min_blocks = changes_values<Change> ? 2 : 3;

  /// A block's shared memory and the elements of its runs of the destination.
  struct Shared {
    SharedPointer<std::uint8_t> box;
    RunTable src_runs;
    RunTable dst_runs;
    PackLimits limits;
    std::byte* dst = nullptr;  ///< where the box begins in the destination
    int first = 0;             ///< where its first element lies in shared memory
    int length = 0;
    bool safe = true;  ///< all vectors that the box touches may be read
  };

  template <class Ctx>
  CT_DEVICE static void run(Ctx& ctx, const PackArgs& a) {
    const Shared shared = begin(ctx, a);
    ctx.barrier();
    load(ctx, a, shared);
    ctx.commit_async();
    // While the vectors are on their way: what the stores need.
    list_destination(ctx, a, shared);
    store_units(ctx, a, shared);
    if constexpr (W > 1) store_ends(ctx, a, shared);
  }

  template <class Ctx>
  CT_DEVICE static Shared begin(Ctx& ctx, const PackArgs& a) {
    Shared shared;
    shared.box = ctx.template dynamic_shared<std::uint8_t>();
    shared.src_runs = cast<RunPlace>(shared.box + a.runs_at);
    shared.dst_runs = shared.src_runs + a.from.runs;
    const Offsets box = pack_box(a, ctx.block_id().x, shared.limits);
    shared.dst = a.dst + box.dst;
    shared.length = static_cast<int>(a.to.unit * shared.limits.count(a.to.cut, a.to.last));
    int back = 0;  // bytes from the lowest element to the first
    CT_NO_UNROLL
    for (int i = 0; i < a.flips; ++i) {
      const PackFlip& flip = a.flip[i];
      back += static_cast<int>(shared.limits.count(flip.cut, flip.extent) - 1) * flip.bytes;
    }
    std::byte* const from = const_cast<std::byte*>(a.src) + box.src;
    shared.first = static_cast<int>(shared.box.address) + a.room + phase_of(from);
    shared.safe = box.src + a.box_low - 15 >= a.src_low && box.src + a.box_high + 15 <= a.src_high;
    // The vectors that a run touches; a negative number where some lie outside what may be read.
    const auto in_vectors = [&](RunPlace place, int) {
      const int before = phase_of(place.at);
      place.at -= before;
      place.shared += shared.first - back - before;
      place.bytes += before;
      if (shared.safe) return place;
      const std::byte* const end = place.at + ((place.bytes + 15) & ~15);
      if (place.at < a.src + a.src_low || end > a.src + a.src_high) place.bytes = -place.bytes;
      return place;
    };
    fill_runs<Src>(ctx, a.from, shared.limits, from - back, shared.src_runs, in_vectors);
    return shared;
  }

  template <class Ctx>
  CT_DEVICE static void list_destination(Ctx& ctx, const PackArgs& a, const Shared& shared) {
    const auto to_the_end = [&](RunPlace place, int left) {
      place.shared += shared.first;
      place.bytes = left;
      return place;
    };
    fill_runs<Dst>(ctx, a.to, shared.limits, shared.dst, shared.dst_runs, to_the_end);
  }

  template <class Ctx>
  CT_DEVICE static void load(Ctx& ctx, const PackArgs& a, const Shared& shared) {
    const std::uint32_t thread = ctx.thread_id().x;
    const std::uint32_t across = a.from.vectors.divisor;
    const std::uint32_t first = a.from.vectors.quotient(thread);
    const std::uint32_t at_once = a.from.vectors.quotient(ctx.block_dim().x);
    if (first >= at_once) return;
    const auto begin = static_cast<int>((thread - first * across) * 16);
    const auto end = begin + a.rounds * static_cast<int>(across) * 16;
    for (int at = begin; at < end; at += static_cast<int>(across) * 16) {
      CT_PARTLY_UNROLL
      for (std::uint32_t n = first; n < a.from.runs; n += at_once) {
        const RunPlace place = ctx.load(shared.src_runs + n);
        const auto to = box_at(place.shared + at);
        ctx.copy_async_if(at < place.bytes, cast<Words>(to),
                          reinterpret_cast<const Words*>(place.at + at));
      }
      if (shared.safe) continue;
      CT_NO_UNROLL
      for (std::uint32_t n = first; n < a.from.runs; n += at_once) {
        const RunPlace place = ctx.load(shared.src_runs + n);
        if (at < -place.bytes) load_elements(ctx, a, place.at + at, box_at(place.shared + at));
      }
    }
  }

  CT_DEVICE static SharedPointer<std::uint8_t> box_at(int shared) {
    return {static_cast<std::uint32_t>(shared)};
  }

  /// Those of a vector that may be read.
  template <class Ctx>
  CT_DEVICE static void load_elements(Ctx& ctx, const PackArgs& a, const std::byte* from,
                                      SharedPointer<std::uint8_t> to) {
    constexpr int count = static_cast<int>(16 / sizeof(Src));
    const auto* const first = reinterpret_cast<const Src*>(from);
    const auto inside = [&](int k) {
      const auto* const element = reinterpret_cast<const std::byte*>(first + k);
      return element >= a.src + a.src_low && element + sizeof(Src) <= a.src + a.src_high;
    };
    Src elements[count];
    CT_UNROLL
    for (int k = 0; k < count; ++k) elements[k] = ctx.load_if(inside(k), first + k);
    CT_UNROLL
    for (int k = 0; k < count; ++k) ctx.store_if(inside(k), cast<Src>(to) + k, elements[k]);
  }

  /// Elements of a run before its first unit.
  CT_DEVICE static int before_units(const std::byte* at) {
    return -static_cast<int>(reinterpret_cast<std::uintptr_t>(at) / size) & (W - 1);
  }

  /// all[before], all[before + 1], ...
  CT_DEVICE static void choose(const int (&all)[2 * W - 1], int before, int (&from)[W]) {
    if constexpr (W == 1) {
      from[0] = all[0];
    } else if constexpr (W == 2) {
      CT_UNROLL
      for (int k = 0; k < W; ++k) from[k] = (before & 1) != 0 ? all[k + 1] : all[k];
    } else {
      int two[W + 1];
      CT_UNROLL
      for (int k = 0; k <= W; ++k) two[k] = (before & 2) != 0 ? all[k + 2] : all[k];
      CT_UNROLL
      for (int k = 0; k < W; ++k) from[k] = (before & 1) != 0 ? two[k + 1] : two[k];
    }
  }

  /// Which units a lane writes: those of a column, in every `down`-th run.
  struct Lane {
    int of_block = 0;  ///< columns that a block takes at once
    int column = 0;    ///< the first
    int run = 0;       ///< the first
    int place = 0;     ///< among the lanes of a column

    template <class Ctx>
    CT_DEVICE Lane(Ctx& ctx, const PackArgs& a) {
      const int thread = thread_of(ctx);
      const int group = thread >> a.lanes;
      const auto groups = ctx.block_dim().x >> a.lanes;
      of_block = static_cast<int>(a.down.quotient(groups));
      column = static_cast<int>(a.down.quotient(static_cast<std::uint32_t>(group)));
      run = group - column * static_cast<int>(a.down.divisor);
      place = thread & ((1 << a.lanes) - 1);
    }
  };

  /// Waits for the vectors when it knows where the first elements lie.
  template <class Ctx>
  CT_DEVICE static void store_units(Ctx& ctx, const PackArgs& a, const Shared& shared) {
    const Lane lane(ctx, a);
    const auto down = static_cast<int>(a.down.divisor);
    const auto runs = static_cast<int>(a.to.runs);
    bool loaded = false;
    for (int column = lane.column; column < a.columns || !loaded; column += lane.of_block) {
      // The first of the elements that the unit can hold.
      const int unit = ((column << a.lanes) + lane.place) * W;
      const bool inside = column < a.columns && unit < a.of_piece;
      int all[2 * W - 1] = {};
      if (inside) a.elements_at(static_cast<std::uint32_t>(unit), all);
      if (!loaded) {
        ctx.template wait_async<0>();
        ctx.barrier();
        loaded = true;
      }
      if (!inside) continue;
      int from[W];
      const auto store = [&](const RunPlace& place, int first) {
        Src elements[W];
        CT_UNROLL
        for (int k = 0; k < W; ++k) {
          elements[k] = ctx.load(cast<Src>(box_at(place.shared + from[k])));
        }
        ctx.store(reinterpret_cast<Unit*>(place.at + first * size), change<Change>(a, elements));
      };
      if (W == 1 || a.steady) {
        if (lane.run >= runs) continue;
        const int before = before_units(ctx.load(shared.dst_runs + lane.run).at);
        choose(all, before, from);
        const int first = unit + before;
        CT_PARTLY_UNROLL
        for (int n = lane.run; n < runs; n += down) {
          const RunPlace place = ctx.load(shared.dst_runs + n);
          if ((first + W) * size <= place.bytes) store(place, first);
        }
        continue;
      }
      int known = -1;
      CT_PARTLY_UNROLL
      for (int n = lane.run; n < runs; n += down) {
        const RunPlace place = ctx.load(shared.dst_runs + n);
        const int before = before_units(place.at);
        const int first = unit + before;
        if ((first + W) * size > place.bytes) continue;
        if (before != known) {
          choose(all, before, from);
          known = before;
        }
        store(place, first);
      }
    }
  }

  /// The elements of runs that lie in no whole unit: W - 1 at most at each end, a thread each.
  template <class Ctx>
  CT_DEVICE static void store_ends(Ctx& ctx, const PackArgs& a, const Shared& shared) {
    constexpr int slots = 2 * W;
    const int thread = thread_of(ctx);
    const int slot = thread % W;
    const bool behind = thread % slots >= W;
    const int element = behind ? shared.length - 1 - slot : slot;
    const bool inside = slot < W - 1 && element >= 0 && element < shared.length;
    const int from = inside ? a.element_at(static_cast<std::uint32_t>(element)) : 0;
    const int runs = static_cast<int>(a.to.runs);
    const auto pieces = static_cast<int>(a.to.pieces.divisor);
    const int step = static_cast<int>(ctx.block_dim().x) / slots * pieces;
    CT_PARTLY_UNROLL
    for (int n = thread / slots * pieces; n < runs; n += step) {
      const RunPlace place = ctx.load(shared.dst_runs + n);
      const int count = place.bytes / size;
      const int to_unit = before_units(place.at);
      const int before = to_unit < count ? to_unit : count;
      const bool mine = slot < (behind ? (count - before) & (W - 1) : before);
      const Src value = ctx.load_if(mine, cast<Src>(box_at(place.shared + from)));
      ctx.store_if(mine, reinterpret_cast<Dst*>(place.at) + element, Change::of(a, value));
    }
  }
};

}  // namespace cornerturn::kernels
