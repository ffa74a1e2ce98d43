// How a block of pack loads a box whose runs begin anywhere. Nothing is shifted: a run of the
// source lies in shared memory at the same distance from a multiple of 16 bytes as in global
// memory, so that it arrives in whole aligned vectors, by asynchronous copies. Strides of shared
// memory are congruent to those of the source, modulo 16, and where an element lies is still a sum
// over its indices.
//
//   source          ..|......RR|RRRRRRRR|RRR.....|..      vectors of 16 bytes
//   shared memory     |......RR|RRRRRRRR|RRR.....|        the same phase
//
// Runs of the source may go backwards along some modes. Such a run is loaded from its lowest
// address on, and lies before its first element: the box has room for that in front.
#pragma once

#include <cstdint>

#include "kernels/pack_args.hpp"
#include "kernels/pack_runs.hpp"
#include "kernels/unaligned.hpp"

namespace cornerturn::kernels {

/// A block's shared memory and the elements of its runs of the destination.
struct PackShared {
  SharedPointer<std::uint8_t> box;
  RunTable src_runs;
  RunTable dst_runs;
  PackLimits limits;
  std::byte* src = nullptr;  ///< the lowest address of the first run of the source
  std::byte* dst = nullptr;  ///< where the box begins in the destination
  int first = 0;             ///< where its first element lies in shared memory
  int back = 0;              ///< bytes from the lowest element of a run to its first
  int length = 0;            ///< elements of a run of the destination, gaps among them too
  int own = 0;               ///< elements of them up to where those of the next box begin
  bool begins = true;        ///< those before their first sector are this block's
  bool safe = true;          ///< all vectors that the box touches may be read
};

/// A place that is counted from the beginning of the block's shared memory.
CT_DEVICE SharedPointer<std::uint8_t> box_at(int shared) {
  return {static_cast<std::uint32_t>(shared)};
}

/// `lists_all`: also runs that are even.
template <class Src, bool lists_all>
struct PackLoad {
  /// Begins to load the box.
  template <class Ctx>
  CT_DEVICE static void run(Ctx& ctx, const PackArgs& a, const PackShared& shared) {
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
  }

  /// A list of the vectors of runs.
  template <class Ctx>
  CT_DEVICE static void list_source(Ctx& ctx, const PackArgs& a, const PackShared& shared) {
    const auto from_lowest = [&](RunPlace place, int) {
      place.shared += shared.first - shared.back;
      return in_vectors(place);
    };
    fill_runs(ctx, a.from, a.from_list, shared.limits, shared.src, shared.src_runs, from_lowest);
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
      step = a.at_once;
      begin = static_cast<int>((thread - first * across) * 16);
      round = static_cast<int>(across) * 16;
      end = first < step ? begin + a.rounds * round : begin;
    }
  };

  template <class Ctx, class Runs>
  CT_DEVICE static void load(Ctx& ctx, const PackArgs& a, const PackShared& shared,
                             const Runs& places) {
    const Vectors mine(ctx, a);
    const std::uint32_t count = shared.limits.runs_of(a.from);
    for (int at = mine.begin; at < mine.end; at += mine.round) {
      CT_NO_UNROLL
      for (auto runs = places.every(mine.first, mine.step, count, a.from.stride); runs.inside();
           runs.next()) {
        const RunPlace place = Runs::even ? in_vectors(runs.here(ctx)) : runs.here(ctx);
        ctx.copy_line_async_if(at < place.bytes, a.through_l1,
                               cast<Words>(box_at(place.shared + at)),
                               reinterpret_cast<const Words*>(place.at + at));
      }
    }
  }

  /// Loads where some vectors lie in part outside of what may be read.
  template <class Ctx>
  CT_DEVICE static void load_guarded(Ctx& ctx, const PackArgs& a, const PackShared& shared,
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
        ctx.copy_line_async_if(mine_too && whole, a.through_l1, cast<Words>(to),
                               reinterpret_cast<const Words*>(from));
        if (mine_too && !whole) load_elements(ctx, a, from, to);
      }
    }
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
};

}  // namespace cornerturn::kernels
