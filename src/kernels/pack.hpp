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
//
// Values may change their type: the box is staged as it was read, and its elements are converted as
// vectors of the destination are gathered.
#pragma once

#include <cstdint>

#include "kernels/casts.hpp"
#include "kernels/elements.hpp"
#include "kernels/pack_aligned.hpp"
#include "kernels/pack_args.hpp"
#include "kernels/unaligned.hpp"

namespace cornerturn::kernels {

/// The shifted form: runs begin anywhere.
template <class Change>
struct PackShifted {
  using Src = typename Change::Src;
  using Dst = typename Change::Dst;
  static constexpr int size = static_cast<int>(sizeof(Dst));
  static constexpr int V = 16 / size;
  static constexpr int threads = 256;  ///< at most
  static constexpr int min_blocks = 4;
  static constexpr unsigned loads_at_once = 2;

  template <class Ctx>
  CT_DEVICE static void run(Ctx& ctx, const PackArgs& a) {
    const PackShared shared = begin_pack<Src, Dst>(ctx, a);
    ctx.barrier();
    load(ctx, a, shared.box, shared.src_runs);
    ctx.barrier();
    store(ctx, a, shared.box, shared.dst_runs, shared.table);
  }

  template <class Ctx>
  CT_DEVICE static void load(Ctx& ctx, const PackArgs& a, SharedPointer<std::uint8_t> buffer,
                             RunTable runs) {
    const FastDivide by_vectors = a.from.vectors;
    const std::uint32_t vectors = by_vectors.divisor;
    const std::uint32_t all = a.from.runs * vectors;
    const Span span{a.src + a.src_low, a.src + a.src_high};
    const std::uint32_t step = ctx.block_dim().x;
    for (auto i = static_cast<std::uint32_t>(thread_of(ctx)); i < all; i += loads_at_once * step) {
      Words v[loads_at_once];
      int to[loads_at_once];
      CT_UNROLL
      for (unsigned k = 0; k < loads_at_once; ++k) {
        const std::uint32_t at_most = i + k * step < all ? i + k * step : i;
        const std::uint32_t n = by_vectors.quotient(at_most);
        const auto at = static_cast<int>(at_most - n * vectors) * 16;
        const RunPlace place = ctx.load(runs + n);
        const int length = place.bytes;
        const bool active = i + k * step < all && at < length;
        const std::byte* from = place.at + at;
        to[k] = i + k * step < all ? place.shared + at : -1;
        const int shift = phase_of(from);
        const bool joins = shift != 0 && at + 16 - shift < length;
        const std::byte* first = from - shift;
        Words low;
        Words high;
        if (!active || (span.holds(first) && (!joins || span.holds(first + 16)))) {
          const auto* vector = reinterpret_cast<const Words*>(first);
          low = ctx.load_if(active, vector);
          high = ctx.load_if(active && joins, vector + 1);
        } else {
          low = load_inside<Src>(ctx, active, first, span);
          high = load_inside<Src>(ctx, active && joins, first + 16, span);
        }
        v[k] = funnel<static_cast<int>(sizeof(Src))>(low, high, static_cast<unsigned>(shift));
      }
      CT_UNROLL
      for (unsigned k = 0; k < loads_at_once; ++k) {
        ctx.store_if(to[k] >= 0, cast<Words>(buffer + to[k]), v[k]);
      }
    }
  }

  template <class Ctx>
  CT_DEVICE static void store(Ctx& ctx, const PackArgs& a, SharedPointer<std::uint8_t> buffer,
                              RunTable runs, SharedPointer<std::uint16_t> table) {
    // Kept in registers: the arguments would be read again every time.
    const FastDivide by_groups = a.groups;
    const FastDivide by_period = a.period;
    const int last_stride = a.last_stride;
    const int dst_runs = static_cast<int>(a.to.runs);
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
      const int length = place.bytes / size;
      const int phase = phase_of(place.at) / size;
      // Element of the run; the first vector may begin before it.
      const int first = (i - down * groups) * group + lane_first - phase;
      if (first >= length) continue;
      std::byte* const to = place.at + first * size;
      if (first >= 0 && first + V <= length) {
        const int periods = static_cast<int>(by_period.quotient(static_cast<std::uint32_t>(first)));
        const auto base = buffer + (place.shared + periods * last_stride);
        const auto entry = table + (first - periods * period);
        std::uint16_t at[V];
        Src elements[V];
        CT_UNROLL
        for (int k = 0; k < V; ++k) at[k] = ctx.load(entry + k);
        CT_UNROLL
        for (int k = 0; k < V; ++k) {
          elements[k] = ctx.load(cast<Src>(base + static_cast<int>(at[k])));
        }
        ctx.store(reinterpret_cast<Words*>(to), change<Change>(a, elements));
      } else {
        const int begin = first > 0 ? first : 0;
        const int end = first + V < length ? first + V : length;
        CT_NO_UNROLL
        for (int e = begin; e < end; ++e) {
          const int periods = static_cast<int>(by_period.quotient(static_cast<std::uint32_t>(e)));
          const int at = place.shared + periods * last_stride +
                         static_cast<int>(ctx.load(table + (e - periods * period)));
          ctx.store(reinterpret_cast<Dst*>(to) + (e - first),
                    Change::of(a, ctx.load(cast<Src>(buffer + at))));
        }
      }
    }
  }
};

template <class Visit>
void dispatch(const PackArgs& a, Visit&& visit) {
  const auto with_form = [&]<class Change>() {
    a.shifted ? visit.template operator()<PackShifted<Change>>()
              : visit.template operator()<PackAligned<Change>>();
  };
  if (!a.values.converts) {
    return with_element(a.element_bytes,
                        [&]<class T>(T) { with_form.template operator()<Move<T>>(); });
  }
  if (with_common_cast(a.values.src_kind, a.values.dst_kind, with_form)) return;
  with_sizes<4>(a.src_element_bytes, a.element_bytes, [&]<int src_size, int dst_size>() {
    visit.template operator()<PackShifted<AnyCast<src_size, dst_size>>>();
  });
}

}  // namespace cornerturn::kernels
