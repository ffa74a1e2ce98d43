// cycles: the transposition of a matrix of runs of bytes within its memory. Run k of the result is
// run `source(k)` of the array; following it from place to place gives the cycles of the
// permutation.
//
// Every run that is a multiple of `spacing` is a cut. A first launch saves the runs at the cuts.
// Then the segments between cuts are independent: the second launch gives each to some lanes of a
// warp, which fill its first place, then the place that this leaves, and so on, up to a run that is
// saved. Cycles without a cut have a leader, their smallest run: a lane walks from every run until
// it meets a smaller one or a cut, without touching memory, and the leaders that are found are then
// moved as segments are.
//
// A lane moves the same bytes of every run of its segment, so nothing needs a barrier. Segments of
// long runs are few, and a warp would still follow the longest when all others have ended: there a
// block moves 64 neighbours of a segment at a time. All its warps read before any writes.
#pragma once

#include <cstdint>

#include "kernels/context.hpp"
#include "kernels/elements.hpp"
#include "kernels/walk.hpp"
#include "maps/fast_divide.hpp"

namespace cornerturn::kernels {

struct CyclesArgs {
  std::byte* array = nullptr;
  std::byte* saved = nullptr;  ///< the runs at the cuts of all matrices
  bool saves = false;          ///< the first launch
  int word_bytes = 1;
  std::int64_t run_bytes = 0;
  std::uint32_t words = 1;    ///< of a run
  std::uint32_t lanes = 1;    ///< that move a run, or 32 words of it: a power of two
  FastDivide chunks;          ///< of 32 words, of a run
  std::uint32_t columns = 1;  ///< runs
  FastDivide rows;
  std::uint32_t count = 1;  ///< runs of a matrix
  FastDivide spacing;       ///< of cuts
  FastDivide cuts;          ///< of a matrix; 1 where there are none
  bool has_cuts = false;
  std::uint32_t walkers = 0;         ///< segments of all matrices, times chunks
  std::uint32_t segment_blocks = 0;  ///< of the second launch; the others find leaders
  bool by_block = false;             ///< a segment's 512 bytes or so are a block's, else a warp's
  FastDivide64 last;                 ///< the number of the last run
  std::uint32_t power_32 = 1;        ///< of `columns`, modulo `last`
  std::uint32_t power_64 = 1;
  std::uint32_t rounds = 1;    ///< a warp tries 32 runs each time
  FastDivide ranges;           ///< of runs for a warp, of a matrix
  std::uint32_t searches = 0;  ///< ranges of all matrices, times chunks
  Walk matrices;

  CT_HOST_DEVICE std::uint32_t source(std::uint32_t k) const {
    const std::uint32_t column = rows.quotient(k);
    return (k - column * rows.divisor) * columns + column;
  }
  /// The source of the source of ..., as often as the power says.
  CT_HOST_DEVICE std::uint32_t source_after(std::uint32_t k, std::uint32_t power) const {
    const std::uint64_t product = std::uint64_t{k} * power;
    return static_cast<std::uint32_t>(product - last.quotient(product) * last.divisor);
  }
  CT_HOST_DEVICE bool at_cut(std::uint32_t k) const {
    return has_cuts && k != 0 && spacing.quotient(k) * spacing.divisor == k;
  }
  CT_HOST_DEVICE std::int64_t saved_at(std::uint32_t matrix, std::uint32_t k) const {
    return (std::int64_t{matrix} * cuts.divisor + spacing.quotient(k) - 1) * run_bytes;
  }
};

inline constexpr int cycles_threads = 256;
inline constexpr std::uint32_t most_cycle_rounds = 8;

/// A group of lanes: which run of which matrix, and which word of it this lane moves.
struct CycleWalker {
  std::uint32_t matrix = 0;
  std::uint32_t run = 0;
  std::uint32_t word = 0;
};

CT_DEVICE CycleWalker walker_of(const CyclesArgs& a, std::uint32_t number, int lane) {
  const std::uint32_t segment = a.chunks.quotient(number);
  const std::uint32_t chunk = number - segment * a.chunks.divisor;
  const std::uint32_t matrix = a.cuts.quotient(segment);
  const std::uint32_t cut = segment - matrix * a.cuts.divisor;
  return {matrix, (cut + 1) * a.spacing.divisor,
          chunk * 32 + (static_cast<std::uint32_t>(lane) & (a.lanes - 1))};
}

template <class T>
struct SaveCuts {
  static constexpr int threads = cycles_threads;
  static constexpr int min_blocks = 8;

  template <class Ctx>
  CT_DEVICE static void run(Ctx& ctx, const CyclesArgs& a) {
    const std::uint32_t thread =
        ctx.block_id().x * threads + static_cast<std::uint32_t>(thread_of(ctx));
    const std::uint32_t number = thread / a.lanes;
    const CycleWalker w = walker_of(a, number, thread_of(ctx));
    const bool mine = number < a.walkers && w.word < a.words;
    const std::byte* from = a.array + a.matrices.at(w.matrix).dst + w.run * a.run_bytes;
    const T v = ctx.load_if(mine, reinterpret_cast<const T*>(from) + w.word);
    ctx.store_if(mine, reinterpret_cast<T*>(a.saved + a.saved_at(w.matrix, w.run)) + w.word, v);
  }
};

template <class T, bool by_block>
struct WalkCycles {
  static constexpr int threads = cycles_threads;
  static constexpr int min_blocks = by_block ? 3 : 6;
  static constexpr int at_once = by_block ? 8 : 4;  ///< runs that are on their way
  static constexpr std::uint32_t of_round = threads / 32 * at_once;
  static constexpr int list_size = 32 * static_cast<int>(most_cycle_rounds);

  template <class Ctx>
  CT_DEVICE static void run(Ctx& ctx, const CyclesArgs& a) {
    const std::uint32_t block = ctx.block_id().x;
    if (block < a.segment_blocks && by_block) {
      if constexpr (by_block) follow_together(ctx, a, walker_of(a, block, thread_of(ctx)));
    } else if (block < a.segment_blocks) {
      const std::uint32_t thread = block * threads + static_cast<std::uint32_t>(thread_of(ctx));
      const std::uint32_t number = thread / a.lanes;
      const CycleWalker w = walker_of(a, number, thread_of(ctx));
      if (number < a.walkers && w.word < a.words) follow<true>(ctx, a, w, T{});
    } else {
      const std::uint32_t warp =
          (block - a.segment_blocks) * (threads / 32) + static_cast<std::uint32_t>(ctx.warp());
      const auto lists = ctx.template shared<std::uint32_t, threads / 32 * list_size>();
      search(ctx, a, warp, lists + ctx.warp() * list_size);
    }
  }

 private:
  // Fills the place of the walker's run, then the one that this leaves, up to a run that is saved:
  // at a cut, or the first one of a cycle, which the lane holds.
  template <bool cut, class Ctx>
  CT_DEVICE static void follow(Ctx& ctx, const CyclesArgs& a, const CycleWalker& w, const T& held) {
    T* const base = reinterpret_cast<T*>(a.array + a.matrices.at(w.matrix).dst) + w.word;
    const auto at = [&](std::uint32_t k) {
      return reinterpret_cast<T*>(reinterpret_cast<std::byte*>(base) + k * a.run_bytes);
    };
    std::uint32_t hole = w.run;
    bool going = true;
    CT_NO_UNROLL
    while (going) {
      T v[at_once];
      std::uint32_t to[at_once];
      bool live[at_once];
      CT_UNROLL
      for (int k = 0; k < at_once; ++k) {
        live[k] = going;
        to[k] = hole;
        const std::uint32_t from = a.source(hole);
        const bool last = cut ? a.at_cut(from) : from == w.run;
        const T* place = at(from);
        if (cut && last) {
          place = reinterpret_cast<const T*>(a.saved + a.saved_at(w.matrix, from)) + w.word;
        }
        v[k] = ctx.load_if(going && (cut || !last), place);
        if (!cut && last) v[k] = held;
        going = going && !last;
        hole = from;
      }
      CT_UNROLL
      for (int k = 0; k < at_once; ++k) ctx.store_if(live[k], at(to[k]), v[k]);
    }
  }

  // All warps of a block follow a cycle from one cut to the next: a lane has the 32nd and the 64th
  // run after each other, so that a warp knows all that move in a round.
  template <class Ctx>
  CT_DEVICE static void follow_together(Ctx& ctx, const CyclesArgs& a, const CycleWalker& w) {
    static_assert(of_round == 64);
    const bool mine = w.word < a.words;
    T* const base = reinterpret_cast<T*>(a.array + a.matrices.at(w.matrix).dst) + w.word;
    const auto at = [&](std::uint32_t k) {
      return reinterpret_cast<T*>(reinterpret_cast<std::byte*>(base) + k * a.run_bytes);
    };
    const auto lane = static_cast<std::uint32_t>(ctx.lane());
    const auto first = static_cast<std::uint32_t>(ctx.warp()) * at_once;
    std::uint32_t low = w.run;
    CT_NO_UNROLL
    for (std::uint32_t i = 0; i <= lane; ++i) low = a.source(low);
    std::uint32_t high = a.source_after(low, a.power_32);
    std::uint32_t hole = w.run;
    CT_NO_UNROLL
    while (true) {
      std::uint32_t stop = a.at_cut(low) ? lane : a.at_cut(high) ? lane + 32 : of_round;
      CT_UNROLL
      for (int mask = 1; mask < 32; mask *= 2) {
        const std::uint32_t other = ctx.shuffle_xor(stop, mask);
        stop = other < stop ? other : stop;
      }
      const std::uint32_t half = first < 32 ? low : high;
      const std::uint32_t before = first == 32 ? low : half;
      const std::uint32_t previous = ctx.shuffle(before, static_cast<int>(first + 31) % 32);
      std::uint32_t to[at_once];
      to[0] = first == 0 ? hole : previous;
      T v[at_once];
      CT_UNROLL
      for (unsigned k = 0; k < at_once; ++k) {
        const std::uint32_t from = ctx.shuffle(half, static_cast<int>(first + k) % 32);
        const T* place = at(from);
        if (first + k == stop) {
          place = reinterpret_cast<const T*>(a.saved + a.saved_at(w.matrix, from)) + w.word;
        }
        v[k] = ctx.load_if(mine && first + k <= stop, place);
        if (k + 1 < at_once) to[k + 1] = from;
      }
      hole = ctx.shuffle(high, 31);

      ctx.barrier();

      CT_UNROLL
      for (unsigned k = 0; k < at_once; ++k) {
        ctx.store_if(mine && first + k <= stop, at(to[k]), v[k]);
      }
      if (stop < of_round) return;
      low = a.source_after(low, a.power_64);
      high = a.source_after(high, a.power_64);
    }
  }

  // Is k the smallest run of a cycle without a cut that has more than one run?
  CT_DEVICE static bool leads(const CyclesArgs& a, std::uint32_t k) {
    if (k == 0 || k + 1 >= a.count || a.at_cut(k)) return false;
    std::uint32_t at = a.source(k);
    if (at == k) return false;
    CT_NO_UNROLL
    while (at > k && !a.at_cut(at)) at = a.source(at);
    return at == k;
  }

  // The leaders of a warp's range of runs, then one chunk of the runs of their cycles.
  template <class Ctx>
  CT_DEVICE static void search(Ctx& ctx, const CyclesArgs& a, std::uint32_t warp,
                               SharedPointer<std::uint32_t> list) {
    const int lane = ctx.lane();
    const bool any = warp < a.searches;
    const std::uint32_t range = a.chunks.quotient(any ? warp : 0);
    const std::uint32_t chunk = (any ? warp : 0) - range * a.chunks.divisor;
    const std::uint32_t matrix = a.ranges.quotient(range);
    const std::uint32_t first = (range - matrix * a.ranges.divisor) * 32 * a.rounds;
    std::uint32_t found = 0;
    CT_NO_UNROLL
    for (std::uint32_t round = 0; round < a.rounds; ++round) {
      const std::uint32_t k = first + 32 * round + static_cast<std::uint32_t>(lane);
      const bool leader = any && leads(a, k);
      std::uint32_t before = leader ? 1 : 0;
      CT_UNROLL
      for (int step = 1; step < 32; step *= 2) {
        const std::uint32_t below = ctx.shuffle(before, lane - step);
        if (lane >= step) before += below;
      }
      ctx.store_if(leader, list + (found + before - 1), k);
      found += ctx.shuffle(before, 31);
    }
    ctx.warp_barrier();
    const std::uint32_t group = static_cast<std::uint32_t>(lane) / a.lanes;
    const std::uint32_t groups = 32 / a.lanes;
    CT_NO_UNROLL
    for (std::uint32_t n = group; n < found; n += groups) {
      const CycleWalker w{matrix, ctx.load(list + n),
                          chunk * 32 + (static_cast<std::uint32_t>(lane) & (a.lanes - 1))};
      if (w.word >= a.words) continue;
      const std::byte* own = a.array + a.matrices.at(matrix).dst + w.run * a.run_bytes;
      follow<false>(ctx, a, w, ctx.load(reinterpret_cast<const T*>(own) + w.word));
    }
  }
};

template <class Visit>
void dispatch(const CyclesArgs& a, Visit&& visit) {
  with_element(a.word_bytes, [&]<class T>(T) {
    if (a.saves) {
      visit.template operator()<SaveCuts<T>>();
    } else if (a.by_block) {
      visit.template operator()<WalkCycles<T, true>>();
    } else {
      visit.template operator()<WalkCycles<T, false>>();
    }
  });
}

}  // namespace cornerturn::kernels
