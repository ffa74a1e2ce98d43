// pack: short runs, small extents, many modes. A block takes a box of the tensor: all or some of
// the indices of some modes, chosen so that it is made of long contiguous pieces on both sides. The
// pieces of the source go to shared memory as they are; then each vector of the destination is
// gathered from there, element by element.
//
// Where an element lies in shared memory is a sum over its indices. Along a run of the destination
// the sum is looked up: a table holds it for one period, the indices of all modes of the run but
// the last, along which it grows by the same amount each time.
//
//   run of the destination   | period | period | period | ...
//   table                    |--------|+V
#pragma once

#include <cstdint>

#include "kernels/elements.hpp"
#include "kernels/unaligned.hpp"
#include "kernels/walk.hpp"

namespace cornerturn::kernels {

/// One mode of a box in a list of such, the list's fastest first.
struct PackDigit {
  FastDivide extent;        ///< indices that a whole box takes
  int cut = -1;             ///< which of PackArgs::cut says how many are left, or none does
  int shared_stride = 0;    ///< bytes
  int pad_shift = 31;       ///< after every 2^pad_shift indices 16 bytes of shared memory stay free
  std::int64_t stride = 0;  ///< bytes, on the side that the list is of

  CT_HOST_DEVICE constexpr int shared_at(std::uint32_t index) const {
    return static_cast<int>(index) * shared_stride + static_cast<int>(index >> pad_shift) * 16;
  }
};

/// A mode of which a box takes some indices only: the last box along it may have fewer.
struct PackCut {
  int axis = 0;              ///< of PackArgs::boxes
  std::uint32_t step = 1;    ///< indices that a box takes
  std::uint32_t extent = 1;  ///< of the mode
};

struct PackArgs {
  static constexpr int max_digits = 20;
  static constexpr int max_cuts = 4;

  const std::byte* src = nullptr;
  std::byte* dst = nullptr;
  std::int64_t src_low = 0;   ///< bytes from `src`: what may be read begins here
  std::int64_t src_high = 0;  ///< and ends here
  int element_bytes = 1;
  bool shifted = false;  ///< runs begin anywhere
  int cuts = 0;
  PackCut cut[max_cuts];
  Walk boxes;

  // The source's runs.
  int src_digits = 0;
  PackDigit src_digit[max_digits];  ///< the modes beside the run
  std::uint32_t src_runs = 1;
  FastDivide src_vectors;      ///< vectors of a run
  std::uint32_t src_unit = 1;  ///< elements of a run for each index of its last mode
  std::uint32_t src_last = 1;  ///< indices of its last mode
  int src_cut = -1;

  // The destination's runs.
  int dst_digits = 0;
  PackDigit dst_digit[max_digits];  ///< the modes beside the run
  std::uint32_t dst_runs = 1;
  FastDivide dst_groups;  ///< groups of `1 << lanes` vectors of a run
  int lanes = 5;          ///< 2^lanes lanes of a warp are neighbours in a run
  FastDivide period;      ///< elements
  int period_digits = 0;
  PackDigit period_digit[max_digits];
  std::uint32_t dst_unit = 1;  ///< elements of a run for each index of its last mode
  std::uint32_t dst_last = 1;  ///< indices of the run's last mode
  int dst_cut = -1;
  int last_stride = 0;  ///< bytes of shared memory

  int table_at = 0;  ///< where in shared memory the table begins
};

template <class T, bool shifted>
struct Pack {
  static constexpr int size = static_cast<int>(sizeof(T));
  static constexpr int V = 16 / size;
  static constexpr int threads = 256;  ///< at most
  static constexpr int min_blocks = 4;
  static constexpr int loads_at_once = shifted ? 2 : 4;

  /// How many indices of each cut mode this block has.
  struct Limits {
    std::uint32_t of[PackArgs::max_cuts];

    CT_DEVICE bool allow(int cut, std::uint32_t index) const {
      bool inside = true;
      CT_UNROLL
      for (int i = 0; i < PackArgs::max_cuts; ++i) inside &= cut != i || index < of[i];
      return inside;
    }
    CT_DEVICE std::uint32_t count(int cut, std::uint32_t whole) const {
      CT_UNROLL
      for (int i = 0; i < PackArgs::max_cuts; ++i) whole = cut == i ? of[i] : whole;
      return whole;
    }
  };

  /// One run: where it begins on its side and in shared memory, and whether this block has it.
  struct RunPlace {
    std::int64_t offset = 0;
    int shared = 0;
    bool inside = true;
  };

  CT_DEVICE static RunPlace run_at(const PackDigit* digit, int digits, const Limits& limits,
                                   std::uint32_t n) {
    RunPlace place;
    for (int i = 0; i < digits; ++i) {
      const std::uint32_t rest = digit[i].extent.quotient(n);
      const std::uint32_t index = n - rest * digit[i].extent.divisor;
      place.offset += static_cast<std::int64_t>(index) * digit[i].stride;
      place.shared += digit[i].shared_at(index);
      place.inside &= limits.allow(digit[i].cut, index);
      n = rest;
    }
    return place;
  }

  template <class Ctx>
  CT_DEVICE static void run(Ctx& ctx, const PackArgs& a) {
    const auto buffer = ctx.template dynamic_shared<std::uint8_t>();
    const auto table = cast<std::uint16_t>(buffer + a.table_at);
    Limits limits;
    const Offsets box = box_of(a, ctx.block_id().x, limits);
    load(ctx, a, a.src + box.src, limits, buffer);
    fill_table(ctx, a, table);
    ctx.barrier();
    store(ctx, a, a.dst + box.dst, limits, buffer, table);
  }

  CT_DEVICE static Offsets box_of(const PackArgs& a, std::uint32_t n, Limits& limits) {
    Offsets offsets;
    CT_UNROLL
    for (int c = 0; c < PackArgs::max_cuts; ++c) limits.of[c] = a.cut[c].step;
    for (int i = 0; i < a.boxes.rank; ++i) {
      const Axis& axis = a.boxes.axis[i];
      const std::uint32_t rest = axis.count.quotient(n);
      const std::uint32_t index = n - rest * axis.count.divisor;
      offsets.src += static_cast<std::int64_t>(index) * axis.src_step;
      offsets.dst += static_cast<std::int64_t>(index) * axis.dst_step;
      CT_UNROLL
      for (int c = 0; c < PackArgs::max_cuts; ++c) {
        if (c >= a.cuts || a.cut[c].axis != i) continue;
        const std::uint32_t left = a.cut[c].extent - index * a.cut[c].step;
        limits.of[c] = left < a.cut[c].step ? left : a.cut[c].step;
      }
      n = rest;
    }
    return offsets;
  }

  template <class Ctx>
  CT_DEVICE static void load(Ctx& ctx, const PackArgs& a, const std::byte* src,
                             const Limits& limits, SharedPointer<std::uint8_t> buffer) {
    const std::uint32_t vectors = a.src_vectors.divisor;
    const std::uint32_t all_threads = ctx.block_dim().x;
    const std::uint32_t all = a.src_runs * vectors;
    const std::uint32_t length = a.src_unit * limits.count(a.src_cut, a.src_last) * size;
    const Span span{a.src + a.src_low, a.src + a.src_high};
    for (std::uint32_t first = 0; first < all; first += loads_at_once * all_threads) {
      Words v[loads_at_once];
      int to[loads_at_once];
      CT_UNROLL
      for (unsigned k = 0; k < loads_at_once; ++k) {
        const std::uint32_t i =
            first + static_cast<std::uint32_t>(ctx.thread_index()) + k * all_threads;
        const std::uint32_t n = a.src_vectors.quotient(i);
        const std::uint32_t at = (i - n * vectors) * 16;
        const RunPlace run = run_at(a.src_digit, a.src_digits, limits, n);
        const bool active = i < all && run.inside && at < length;
        const std::byte* from = src + run.offset + at;
        to[k] = i < all ? run.shared + static_cast<int>(at) : -1;
        if constexpr (shifted) {
          const auto shift = static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(from) % 16);
          const Words low = load_inside<T>(ctx, active, from - shift, span);
          const Words high = load_inside<T>(ctx, active && shift != 0 && at + 16 - shift < length,
                                            from - shift + 16, span);
          v[k] = funnel<size>(low, high, shift);
        } else {
          v[k] = ctx.load_if(active, reinterpret_cast<const Words*>(from));
        }
      }
      CT_UNROLL
      for (int k = 0; k < loads_at_once; ++k) {
        ctx.store_if(to[k] >= 0, cast<Words>(buffer + to[k]), v[k]);
      }
    }
  }

  template <class Ctx>
  CT_DEVICE static void fill_table(Ctx& ctx, const PackArgs& a,
                                   SharedPointer<std::uint16_t> table) {
    const std::uint32_t entries = a.period.divisor + V;
    for (auto i = static_cast<std::uint32_t>(ctx.thread_index()); i < entries;
         i += ctx.block_dim().x) {
      const std::uint32_t periods = a.period.quotient(i);
      std::uint32_t n = i - periods * a.period.divisor;
      int at = static_cast<int>(periods) * a.last_stride;
      for (int d = 0; d < a.period_digits; ++d) {
        const PackDigit& digit = a.period_digit[d];
        const std::uint32_t rest = digit.extent.quotient(n);
        const std::uint32_t index = n - rest * digit.extent.divisor;
        at += digit.shared_at(index);
        n = rest;
      }
      ctx.store(table + i, static_cast<std::uint16_t>(at));
    }
  }

  template <class Ctx>
  CT_DEVICE static void store(Ctx& ctx, const PackArgs& a, std::byte* dst, const Limits& limits,
                              SharedPointer<std::uint8_t> buffer,
                              SharedPointer<std::uint16_t> table) {
    const auto length = static_cast<int>(a.dst_unit * limits.count(a.dst_cut, a.dst_last));
    const std::uint32_t groups = a.dst_groups.divisor;
    const std::uint32_t lanes_down = 32U >> a.lanes;
    const std::uint32_t all = groups * ((a.dst_runs + lanes_down - 1) / lanes_down);  // of a warp
    const auto lane = static_cast<std::uint32_t>(ctx.lane());
    for (auto i = static_cast<std::uint32_t>(ctx.warp()); i < all; i += ctx.block_dim().x / 32) {
      const std::uint32_t down = a.dst_groups.quotient(i);
      const std::uint32_t n = down * lanes_down + (lane >> a.lanes);
      const std::uint32_t vector =
          ((i - down * groups) << a.lanes) + (lane & ((1U << a.lanes) - 1));
      const RunPlace run = run_at(a.dst_digit, a.dst_digits, limits, n);
      std::byte* const to = dst + run.offset;
      const int phase =
          shifted ? static_cast<int>(reinterpret_cast<std::uintptr_t>(to) % 16) / size : 0;
      const int first = static_cast<int>(vector) * V - phase;  // element of the run
      const bool inside = n < a.dst_runs && run.inside && first < length;
      // Elements before and after the run are read from somewhere in the table and not stored.
      const std::uint32_t begin = first > 0 ? static_cast<std::uint32_t>(first) : 0;
      const std::uint32_t periods = a.period.quotient(begin);
      const int skipped = first < 0 ? -first : 0;
      const SharedPointer<std::uint8_t> base =
          buffer + (run.shared + static_cast<int>(periods) * a.last_stride);
      const SharedPointer<std::uint16_t> entry =
          table + static_cast<int>(begin - periods * a.period.divisor);
      T v[V];
      std::uint16_t at[V];
      CT_UNROLL
      for (int k = 0; k < V; ++k) {
        const bool is_wanted = inside && k >= skipped && first + k < length;
        at[k] = ctx.load_if(is_wanted, entry + (k - skipped));
      }
      CT_UNROLL
      for (int k = 0; k < V; ++k) {
        const bool is_wanted = inside && k >= skipped && first + k < length;
        v[k] = ctx.load_if(is_wanted, cast<T>(base + static_cast<int>(at[k])));
      }
      std::byte* const here = to + static_cast<std::int64_t>(first) * size;
      const bool whole = inside && first >= 0 && first + V <= length;
      ctx.store_if(whole, reinterpret_cast<Words*>(here), joined(v));
      if (inside && !whole) {
        CT_UNROLL
        for (int k = 0; k < V; ++k) {
          ctx.store_if(k >= skipped && first + k < length, reinterpret_cast<T*>(here) + k, v[k]);
        }
      }
    }
  }
};

template <class Visit>
void dispatch(const PackArgs& a, Visit&& visit) {
  with_element(a.element_bytes, [&]<class T>(T) {
    if (a.shifted) {
      visit.template operator()<Pack<T, true>>();
    } else {
      visit.template operator()<Pack<T, false>>();
    }
  });
}

}  // namespace cornerturn::kernels
