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
// all runs of a lane. The elements before the first whole unit of a run and behind the last one
// follow one by one.
//
// Where lanes would all meet a few banks, some begin with another element of their units, and put
// the elements in their order in registers.
//
// A lane has the same offsets in every run. So many short runs are better than few long ones, and a
// run may be cut at one of its modes. A long run is a list of pieces: whole units and whole
// periods. A piece goes on to its run's end, and its units stop where the next piece begins. Only a
// run, not a piece, has elements outside of units.
//
// Where the runs of a side follow one another at equal distances, a thread steps from one to the
// next. Others are listed in shared memory, as the vectors or the units that they have.
//
// Runs of a few small elements have hardly a whole unit. There a lane writes single elements.
// Where values change, all runs are listed, and leave in units.
//
// Runs of the source may go backwards along some modes. Such a run is loaded from its lowest
// address on, and lies before its first element: the box has room for that in front.
#pragma once

#include <cstdint>
#include <type_traits>

#include "kernels/casts.hpp"
#include "kernels/elements.hpp"
#include "kernels/pack_args.hpp"
#include "kernels/unaligned.hpp"

namespace cornerturn::kernels {

template <class Change, bool single = false>
struct PackAnywhere {
  using Src = typename Change::Src;
  using Dst = typename Change::Dst;
  static constexpr int size = static_cast<int>(sizeof(Dst));
  static constexpr int W = single ? 1 : pack_unit_bytes(size) / size;  // elements of a unit
  using Unit = std::conditional_t<single, Dst, PackedWords<Dst, pack_unit_bytes(size) / size>>;
  static constexpr int threads = 512;  ///< at most
  static constexpr int min_blocks = changes_values<Change> ? 2 : 3;
  static constexpr bool lists_all = changes_values<Change>;  ///< also runs that are even

  /// A block's shared memory and the elements of its runs of the destination.
  struct Shared {
    SharedPointer<std::uint8_t> box;
    RunTable src_runs;
    RunTable dst_runs;
    PackLimits limits;
    std::byte* src = nullptr;  ///< the lowest address of the first run of the source
    std::byte* dst = nullptr;  ///< where the box begins in the destination
    int first = 0;             ///< where its first element lies in shared memory
    int back = 0;              ///< bytes from the lowest element of a run to its first
    int length = 0;
    bool safe = true;  ///< all vectors that the box touches may be read
  };

  template <class Ctx>
  CT_DEVICE static void run(Ctx& ctx, const PackArgs& a) {
    const Shared shared = begin(ctx, a);
    const int bytes = run_bytes(a.from, a.from_list, shared.limits);
    const EvenRuns even{a.from, {shared.src, shared.first - shared.back, bytes}};
    const ListedRuns listed{shared.src_runs, {}};
    if (lists_all || !a.from.even) {
      list_source(ctx, a, shared);
      ctx.barrier();
    }
    if (!shared.safe) {
      load_guarded(ctx, a, shared, even, listed);
    } else if (!lists_all && a.from.even) {
      load(ctx, a, shared, even);
    } else {
      load(ctx, a, shared, listed);
    }
    ctx.commit_async();
    // While the vectors are on their way: what the stores need.
    if (!lists_all && a.to.even) {
      store(ctx, a, shared, EvenRuns{a.to, {shared.dst, shared.first, shared.length * size}});
    } else {
      list_destination(ctx, a, shared);
      store(ctx, a, shared, ListedRuns{shared.dst_runs, {}});
    }
  }

  template <class Ctx>
  CT_DEVICE static Shared begin(Ctx& ctx, const PackArgs& a) {
    Shared shared;
    shared.box = ctx.template dynamic_shared<std::uint8_t>();
    shared.src_runs = cast<RunPlace>(shared.box + a.runs_at);
    shared.dst_runs = shared.src_runs + a.from.listed();
    const Offsets box = pack_box(a, ctx.block_id().x, shared.limits);
    shared.dst = a.dst + box.dst;
    shared.length = run_bytes(a.to, a.to_list, shared.limits) / size;
    CT_NO_UNROLL
    for (int i = 0; i < a.flips; ++i) {
      const PackFlip& flip = a.flip[i];
      shared.back += static_cast<int>(shared.limits.count(flip.cut, flip.extent) - 1) * flip.bytes;
    }
    std::byte* const from = const_cast<std::byte*>(a.src) + box.src;
    shared.src = from - shared.back;
    shared.first = static_cast<int>(shared.box.address) + a.room + phase_of(from);
    shared.safe = box.src >= a.safe_low && box.src <= a.safe_high;
    return shared;
  }

  /// A list of the vectors of runs.
  template <class Ctx>
  CT_DEVICE static void list_source(Ctx& ctx, const PackArgs& a, const Shared& shared) {
    const auto from_lowest = [&](RunPlace place, int) {
      place.shared += shared.first - shared.back;
      return in_vectors(place);
    };
    fill_runs(ctx, a.from, a.from_list, shared.limits, shared.src, shared.src_runs, from_lowest);
  }

  /// A list of the units of runs.
  template <class Ctx>
  CT_DEVICE static void list_destination(Ctx& ctx, const PackArgs& a, const Shared& shared) {
    const auto to_the_end = [&](RunPlace place, int left) {
      place.shared += shared.first;
      place.bytes = left;
      return in_units(place);
    };
    fill_runs(ctx, a.to, a.to_list, shared.limits, shared.dst, shared.dst_runs, to_the_end);
  }

  /// The first vector that a run touches, and the bytes from there to its end.
  CT_DEVICE static RunPlace in_vectors(const RunPlace& run) {
    const auto at = reinterpret_cast<std::uintptr_t>(run.at) & ~std::uintptr_t{15};
    // NOLINTNEXTLINE(performance-no-int-to-ptr): so it takes one instruction
    return {reinterpret_cast<std::byte*>(at), run.shared & ~15, run.bytes + phase_of(run.at)};
  }

  /// Which vectors a thread loads: the same ones of every `step`-th run.
  struct Vectors {
    std::uint32_t first = 0;
    std::uint32_t step = 0;
    int begin = 0;  ///< bytes
    int end = 0;
    int round = 0;

    template <class Ctx>
    CT_DEVICE Vectors(Ctx& ctx, const PackArgs& a) {
      const std::uint32_t thread = ctx.thread_id().x;
      const std::uint32_t across = a.from.vectors.divisor;
      first = a.from.vectors.quotient(thread);
      step = a.from.vectors.quotient(ctx.block_dim().x);
      begin = static_cast<int>((thread - first * across) * 16);
      round = static_cast<int>(across) * 16;
      end = first < step ? begin + a.rounds * round : begin;
    }
  };

  template <class Ctx, class Runs>
  CT_DEVICE static void load(Ctx& ctx, const PackArgs& a, const Shared& shared,
                             const Runs& places) {
    const Vectors mine(ctx, a);
    const std::uint32_t count = shared.limits.runs_of(a.from);
    for (int at = mine.begin; at < mine.end; at += mine.round) {
      CT_NO_UNROLL
      for (auto runs = places.every(mine.first, mine.step, count, a.from.stride); runs.inside();
           runs.next()) {
        const RunPlace place = Runs::even ? in_vectors(runs.here(ctx)) : runs.here(ctx);
        ctx.copy_async_if(at < place.bytes, cast<Words>(box_at(place.shared + at)),
                          reinterpret_cast<const Words*>(place.at + at));
      }
    }
  }

  /// The same where some vectors lie in part outside of what may be read.
  template <class Ctx>
  CT_DEVICE static void load_guarded(Ctx& ctx, const PackArgs& a, const Shared& shared,
                                     const EvenRuns& even, const ListedRuns& listed) {
    const Vectors mine(ctx, a);
    const std::uint32_t count = shared.limits.runs_of(a.from);
    CT_NO_UNROLL
    for (int at = mine.begin; at < mine.end; at += mine.round) {
      CT_NO_UNROLL
      for (std::uint32_t n = mine.first; n < count; n += mine.step) {
        const RunPlace place = !lists_all && a.from.even
                                   ? in_vectors(even.every(n, 0, 0, 0).here(ctx))
                                   : listed.every(n, 0, 0, 0).here(ctx);
        const std::byte* const from = place.at + at;
        const auto to = box_at(place.shared + at);
        const bool mine_too = at < place.bytes;
        const bool whole = from >= a.src + a.src_low && from + 16 <= a.src + a.src_high;
        ctx.copy_async_if(mine_too && whole, cast<Words>(to), reinterpret_cast<const Words*>(from));
        if (mine_too && !whole) load_elements(ctx, a, from, to);
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

  /// The first unit of a run, in shared memory the run itself, and the bytes of all whole units
  /// plus the number of elements before them. That number is less than the bytes of a unit, so both
  /// fit one number.
  CT_DEVICE static RunPlace in_units(const RunPlace& run) {
    const int before = -static_cast<int>(reinterpret_cast<std::uintptr_t>(run.at) / size) & (W - 1);
    const int units = (run.bytes - before * size) & -(W * size);
    const int least = run.bytes < 0 ? -16 : 0;
    return {run.at + before * size, run.shared, (units > least ? units : least) + before};
  }
  CT_DEVICE static int before_units(const RunPlace& units) { return units.bytes & (W - 1); }
  /// Whether there is the unit that begins so many bytes behind the first.
  CT_DEVICE static bool has_unit(const RunPlace& units, int at) {
    return at + W * size - 1 < units.bytes;
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

  /// Lanes may begin with another element of their units, so that they read from other banks.
  CT_DEVICE static void rotate(int (&from)[W], unsigned rotation) {
    CT_UNROLL
    for (int bit = W / 2; bit > 0; bit /= 2) {
      const bool other = (rotation & static_cast<unsigned>(bit)) != 0;
      int was[W];
      CT_UNROLL
      for (int k = 0; k < W; ++k) was[k] = from[k];
      CT_UNROLL
      for (int k = 0; k < W; ++k) from[k] = other ? was[(k + bit) % W] : was[k];
    }
  }
  /// A unit of the elements of such a lane, in their order.
  CT_DEVICE static Unit unit_of(const PackArgs& a, const Src (&elements)[W], unsigned rotation) {
    if constexpr (W == 4 && size <= 2 && !changes_values<Change>) {
      constexpr std::uint32_t pair = size == 1 ? 0x40 : 0x5410;
      const std::uint32_t low = byte_permute(elements[0], elements[1], pair);
      const std::uint32_t high = byte_permute(elements[2], elements[3], pair);
      const std::uint32_t order = order_of(rotation);
      if constexpr (size == 1) {
        return {byte_permute(low, high, order)};
      } else {
        return {byte_permute(low, high, order), byte_permute(low, high, order >> 16)};
      }
    } else {
      const Unit unit = change<Change>(a, elements);
      return a.rotation_shift == PackArgs::no_rotation ? unit : rotated_back(unit, rotation);
    }
  }
  /// Which of the bytes of two halves of a unit come one after the other.
  CT_DEVICE static std::uint32_t order_of(unsigned rotation) {
    if constexpr (size == 1) return 0x54105410U >> (16 - 4 * rotation);
    return static_cast<std::uint32_t>(0x7654321076543210U >> (32 - 8 * rotation));
  }
  CT_DEVICE static Unit rotated_back(const Unit& unit, unsigned rotation) {
    if constexpr (W < 4) {
      return unit;
    } else if constexpr (size == 1) {
      return {byte_permute(unit[0], unit[0], 0x32103210U >> (16 - 4 * rotation))};
    } else if constexpr (size == 2) {
      const std::uint32_t order = order_of(rotation);
      return {byte_permute(unit[0], unit[1], order), byte_permute(unit[0], unit[1], order >> 16)};
    } else {
      return rotated_words(unit, rotation);
    }
  }

  /// Which units a lane writes: some of a run, the same ones of every `down`-th run.
  struct Lane {
    int first = 0;  ///< element of the first unit that there can be
    int step = 0;   ///< elements from one of its units to the next
    int run = 0;    ///< the first
    unsigned rotation = 0;

    template <class Ctx>
    CT_DEVICE Lane(Ctx& ctx, const PackArgs& a) {
      const int thread = thread_of(ctx);
      const auto across = static_cast<int>(a.across.divisor);
      run = static_cast<int>(a.across.quotient(static_cast<std::uint32_t>(thread)));
      step = across * W;
      // Those that are left over have none.
      first = run < static_cast<int>(a.down.divisor) ? (thread - run * across) * W : a.of_piece;
      rotation = W < 4 ? 0 : a.rotation_of(ctx.thread_id().x % 32);
    }
  };

  template <class Ctx, class Runs>
  CT_DEVICE static void store(Ctx& ctx, const PackArgs& a, const Shared& shared,
                              const Runs& places) {
    store_units(ctx, a, shared, places);
    if constexpr (W > 1) {
      const auto begin = reinterpret_cast<std::uintptr_t>(shared.dst);
      const bool are_whole = a.same && begin % (W * size) == 0 && shared.length % W == 0;
      if (!are_whole) store_ends(ctx, a, shared, places);
    }
  }

  /// Waits for the vectors when it knows where the first elements lie.
  template <class Ctx, class Runs>
  CT_DEVICE static void store_units(Ctx& ctx, const PackArgs& a, const Shared& shared,
                                    const Runs& places) {
    const Lane lane(ctx, a);
    const auto count = static_cast<int>(shared.limits.runs_of(a.to));
    bool loaded = false;
    // The first of the elements that the unit can hold.
    for (int unit = lane.first; unit < a.of_piece || !loaded; unit += lane.step) {
      const bool inside = unit < a.of_piece;
      int all[2 * W - 1] = {};
      if (inside) a.elements_at(static_cast<std::uint32_t>(unit), all);
      if (!loaded) {
        ctx.template wait_async<0>();
        ctx.barrier();
        loaded = true;
      }
      if (inside && lane.run < count) store_column(ctx, a, lane, places, count, unit, all);
    }
  }

  /// The same unit in every run that the lane takes. `all`: where the elements lie that it can
  /// hold.
  template <class Ctx, class Runs>
  CT_DEVICE static void store_column(Ctx& ctx, const PackArgs& a, const Lane& lane,
                                     const Runs& places, int count, int unit,
                                     const int (&all)[2 * W - 1]) {
    auto runs = places.every(static_cast<std::uint32_t>(lane.run), a.down.divisor,
                             static_cast<std::uint32_t>(count), a.to.stride);
    const int at = unit * size;
    int from[W];
    if (W == 1 || Runs::even || a.steady) {
      if constexpr (Runs::even) runs.run = in_units(runs.run);
      const RunPlace first = runs.here(ctx);
      if (Runs::even && !has_unit(first, at)) return;
      choose(all, before_units(first), from);
      if (a.rotation_shift != PackArgs::no_rotation) rotate(from, lane.rotation);
      CT_NO_UNROLL
      for (; runs.inside(); runs.next()) {
        const RunPlace units = runs.here(ctx);
        if (Runs::even || has_unit(units, at)) move_unit(ctx, a, lane, units, at, from);
      }
      return;
    }
    int known = -1;
    CT_NO_UNROLL
    for (; runs.inside(); runs.next()) {
      const RunPlace units = runs.here(ctx);
      if (!has_unit(units, at)) continue;
      const int before = before_units(units);
      if (before != known) {
        choose(all, before, from);
        known = before;
      }
      move_unit(ctx, a, lane, units, at, from);
    }
  }

  template <class Ctx>
  CT_DEVICE static void move_unit(Ctx& ctx, const PackArgs& a, const Lane& lane,
                                  const RunPlace& units, int at, const int (&from)[W]) {
    Src elements[W];
    CT_UNROLL
    for (int k = 0; k < W; ++k) {
      elements[k] = ctx.load(cast<Src>(box_at(units.shared + from[k])));
    }
    auto* const to = reinterpret_cast<Unit*>(units.at + static_cast<std::uint32_t>(at));
    if constexpr (single) {
      ctx.store(to, Change::of(a, elements[0]));
    } else {
      ctx.store(to, unit_of(a, elements, lane.rotation));
    }
  }

  /// The elements of runs that lie in no whole unit: W - 1 at most at each end, a thread each.
  template <class Ctx, class Runs>
  CT_DEVICE static void store_ends(Ctx& ctx, const PackArgs& a, const Shared& shared,
                                   const Runs& places) {
    constexpr int slots = 2 * W;
    const int thread = thread_of(ctx);
    const int slot = thread % W;
    const bool behind = thread % slots >= W;
    const int element = behind ? shared.length - 1 - slot : slot;
    const bool inside = slot < W - 1 && element >= 0 && element < shared.length;
    const int from = inside ? a.element_at(static_cast<std::uint32_t>(element)) : 0;
    const std::uint32_t pieces = Runs::even ? 1 : a.to_list.pieces.count.divisor;
    const std::uint32_t first = static_cast<std::uint32_t>(thread / slots) * pieces;
    const std::uint32_t step = ctx.block_dim().x / slots * pieces;
    CT_NO_UNROLL
    for (auto runs =
             places.every(first, step, shared.limits.runs_of(a.to), std::int64_t{step} * a.to.step);
         runs.inside(); runs.next()) {
      const RunPlace units = Runs::even ? in_units(runs.here(ctx)) : runs.here(ctx);
      const int elements = units.bytes < 0 ? 0 : shared.length;
      const int to_unit = before_units(units);
      const int before = to_unit < elements ? to_unit : elements;
      const bool mine = slot < (behind ? (elements - before) & (W - 1) : before);
      const Src value = ctx.load_if(mine, cast<Src>(box_at(units.shared + from)));
      ctx.store_if(mine, reinterpret_cast<Dst*>(units.at) + (element - to_unit),
                   Change::of(a, value));
    }
  }
};

}  // namespace cornerturn::kernels
