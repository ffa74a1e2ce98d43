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

  int runs_at = 0;   ///< where in shared memory the lists of runs begin
  int table_at = 0;  ///< and where the table
};

template <class T, bool shifted>
struct Pack {
  static constexpr int size = static_cast<int>(sizeof(T));
  static constexpr int V = 16 / size;
  static constexpr int threads = 256;  ///< at most
  static constexpr int min_blocks = 4;
  static constexpr unsigned loads_at_once = shifted ? 2 : 4;

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

  /// One run: where it begins on its side and in shared memory; null if this block has it not.
  struct alignas(16) RunPlace {
    std::byte* at = nullptr;
    int shared = 0;
    int unused = 0;
  };
  using RunTable = SharedPointer<RunPlace>;

  template <class Ctx>
  CT_DEVICE static void run(Ctx& ctx, const PackArgs& a) {
    const auto buffer = ctx.template dynamic_shared<std::uint8_t>();
    const auto src_runs = cast<RunPlace>(buffer + a.runs_at);
    const auto dst_runs = src_runs + a.src_runs;
    const auto table = cast<std::uint16_t>(buffer + a.table_at);
    Limits limits;
    const Offsets box = box_of(a, ctx.block_id().x, limits);
    fill_runs(ctx, a.src_digit, a.src_digits, a.src_runs, limits,
              const_cast<std::byte*>(a.src) + box.src, src_runs);
    fill_runs(ctx, a.dst_digit, a.dst_digits, a.dst_runs, limits, a.dst + box.dst, dst_runs);
    fill_table(ctx, a, table);
    ctx.barrier();
    load(ctx, a, limits, buffer, src_runs);
    ctx.barrier();
    store(ctx, a, limits, buffer, dst_runs, table);
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
  CT_DEVICE static void fill_runs(Ctx& ctx, const PackDigit* digit, int digits, std::uint32_t runs,
                                  const Limits& limits, std::byte* base, RunTable table) {
    for (auto i = static_cast<std::uint32_t>(thread_of(ctx)); i < runs; i += ctx.block_dim().x) {
      RunPlace place{base, 0, 0};
      bool inside = true;
      std::uint32_t n = i;
      for (int d = 0; d < digits; ++d) {
        const std::uint32_t rest = digit[d].extent.quotient(n);
        const std::uint32_t index = n - rest * digit[d].extent.divisor;
        place.at += static_cast<std::int64_t>(index) * digit[d].stride;
        place.shared += digit[d].shared_at(index);
        inside &= limits.allow(digit[d].cut, index);
        n = rest;
      }
      if (!inside) place.at = nullptr;
      ctx.store(table + i, place);
    }
  }

  template <class Ctx>
  CT_DEVICE static void load(Ctx& ctx, const PackArgs& a, const Limits& limits,
                             SharedPointer<std::uint8_t> buffer, RunTable runs) {
    const FastDivide by_vectors = a.src_vectors;
    const std::uint32_t vectors = by_vectors.divisor;
    const std::uint32_t all = a.src_runs * vectors;
    const std::uint32_t length = a.src_unit * limits.count(a.src_cut, a.src_last) * size;
    const Span span{a.src + a.src_low, a.src + a.src_high};
    const std::uint32_t step = ctx.block_dim().x;
    for (auto i = static_cast<std::uint32_t>(thread_of(ctx)); i < all; i += loads_at_once * step) {
      Words v[loads_at_once];
      int to[loads_at_once];
      CT_UNROLL
      for (unsigned k = 0; k < loads_at_once; ++k) {
        const std::uint32_t at_most = i + k * step < all ? i + k * step : i;
        const std::uint32_t n = by_vectors.quotient(at_most);
        const std::uint32_t at = (at_most - n * vectors) * 16;
        const RunPlace place = ctx.load(runs + n);
        const bool active = i + k * step < all && place.at != nullptr && at < length;
        const std::byte* from = place.at + at;
        to[k] = i + k * step < all ? place.shared + static_cast<int>(at) : -1;
        if constexpr (shifted) {
          const auto shift = static_cast<unsigned>(phase_of(from));
          const bool joins = shift != 0 && at + 16 - shift < length;
          const std::byte* first = from - shift;
          if (!active || (span.holds(first) && (!joins || span.holds(first + 16)))) {
            const auto* vector = reinterpret_cast<const Words*>(first);
            const Words low = ctx.load_if(active, vector);
            const Words high = ctx.load_if(active && joins, vector + 1);
            v[k] = funnel<size>(low, high, shift);
          } else {
            const Words low = load_inside<T>(ctx, active, first, span);
            const Words high = load_inside<T>(ctx, active && joins, first + 16, span);
            v[k] = funnel<size>(low, high, shift);
          }
        } else {
          v[k] = ctx.load_if(active, reinterpret_cast<const Words*>(from));
        }
      }
      CT_UNROLL
      for (unsigned k = 0; k < loads_at_once; ++k) {
        ctx.store_if(to[k] >= 0, cast<Words>(buffer + to[k]), v[k]);
      }
    }
  }

  template <class Ctx>
  CT_DEVICE static void fill_table(Ctx& ctx, const PackArgs& a,
                                   SharedPointer<std::uint16_t> table) {
    const std::uint32_t entries = a.period.divisor + V;
    for (auto i = static_cast<std::uint32_t>(thread_of(ctx)); i < entries; i += ctx.block_dim().x) {
      const std::uint32_t periods = a.period.quotient(i);
      std::uint32_t n = i - periods * a.period.divisor;
      int at = static_cast<int>(periods) * a.last_stride;
      for (int d = 0; d < a.period_digits; ++d) {
        const PackDigit& digit = a.period_digit[d];
        const std::uint32_t rest = digit.extent.quotient(n);
        at += digit.shared_at(n - rest * digit.extent.divisor);
        n = rest;
      }
      ctx.store(table + i, static_cast<std::uint16_t>(at));
    }
  }

  template <class Ctx>
  CT_DEVICE static void store(Ctx& ctx, const PackArgs& a, const Limits& limits,
                              SharedPointer<std::uint8_t> buffer, RunTable runs,
                              SharedPointer<std::uint16_t> table) {
    const auto length = static_cast<int>(a.dst_unit * limits.count(a.dst_cut, a.dst_last));
    // Kept in registers: the arguments would be read again in every turn.
    const FastDivide by_groups = a.dst_groups;
    const FastDivide by_period = a.period;
    const int last_stride = a.last_stride;
    const int dst_runs = static_cast<int>(a.dst_runs);
    const int groups = static_cast<int>(by_groups.divisor);
    const int period = static_cast<int>(by_period.divisor);
    const int lanes_down = 32 >> a.lanes;
    const int all = groups * ((dst_runs + lanes_down - 1) / lanes_down);  // of a warp
    const int lane = thread_of(ctx) % 32;
    const int lane_run = lane >> a.lanes;
    const int lane_first = (lane & ((1 << a.lanes) - 1)) * V;
    const int group = V << a.lanes;  // elements
    const int step = static_cast<int>(ctx.block_dim().x) / 32;
    for (int i = thread_of(ctx) / 32; i < all; i += step) {
      const int down = static_cast<int>(by_groups.quotient(static_cast<std::uint32_t>(i)));
      const int n = down * lanes_down + lane_run;
      if (n >= dst_runs) continue;
      const RunPlace place = ctx.load(runs + n);
      const int phase = shifted ? phase_of(place.at) / size : 0;
      // Element of the run; the first vector may begin before it.
      const int first = (i - down * groups) * group + lane_first - phase;
      if (place.at == nullptr || first >= length) continue;
      std::byte* const to = place.at + first * size;
      if (first >= 0 && first + V <= length) {
        const int periods = static_cast<int>(by_period.quotient(static_cast<std::uint32_t>(first)));
        const auto base = buffer + (place.shared + periods * last_stride);
        const auto entry = table + (first - periods * period);
        std::uint16_t at[V];
        T v[V];
        CT_UNROLL
        for (int k = 0; k < V; ++k) at[k] = ctx.load(entry + k);
        CT_UNROLL
        for (int k = 0; k < V; ++k) v[k] = ctx.load(cast<T>(base + static_cast<int>(at[k])));
        ctx.store(reinterpret_cast<Words*>(to), joined(v));
      } else {
        const int begin = first > 0 ? first : 0;
        const int end = first + V < length ? first + V : length;
        CT_NO_UNROLL
        for (int e = begin; e < end; ++e) {
          const int periods = static_cast<int>(by_period.quotient(static_cast<std::uint32_t>(e)));
          const int at = place.shared + periods * last_stride +
                         static_cast<int>(ctx.load(table + (e - periods * period)));
          ctx.store(reinterpret_cast<T*>(to) + (e - first), ctx.load(cast<T>(buffer + at)));
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
