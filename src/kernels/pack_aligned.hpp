// The aligned form of pack: all runs begin at multiples of 16 bytes. They go to shared memory by
// asynchronous copies, and a thread has the same place in every run of the destination that it
// writes. So it looks up once where the elements of a vector lie. A run may end within a vector.
#pragma once

#include <cstdint>

#include "kernels/casts.hpp"
#include "kernels/elements.hpp"
#include "kernels/pack_args.hpp"
#include "kernels/pack_prefetch.hpp"
#include "kernels/pack_runs.hpp"
#include "kernels/unaligned.hpp"

namespace cornerturn::kernels {

/// Shared memory's offsets of the elements of one period and of a vector of the destination more.
template <class T, class Ctx>
CT_DEVICE void fill_table(Ctx& ctx, const PackArgs& a, SharedPointer<std::uint16_t> table) {
  const std::uint32_t entries = a.period.divisor + 16 / sizeof(T);
  for (auto i = ctx.thread_id().x; i < entries; i += ctx.block_dim().x) {
    ctx.store(table + i, static_cast<std::uint16_t>(a.element_at(i)));
  }
}

template <class Change>
struct PackAligned {
  using Src = typename Change::Src;
  using Dst = typename Change::Dst;
  static constexpr int size = static_cast<int>(sizeof(Dst));
  static constexpr int V = 16 / size;
  static constexpr int threads = 1024;  ///< at most
  static constexpr int min_blocks = 1;

  template <class Ctx>
  CT_DEVICE static void run(Ctx& ctx, const PackArgs& a) {
    const auto box = ctx.template dynamic_shared<std::uint8_t>();
    const auto src_runs = cast<RunPlace>(box + a.runs_at);
    const auto dst_runs = src_runs + a.from.runs;
    const auto table = cast<std::uint16_t>(box + a.table_at);
    PackLimits limits;
    const Offsets begin = pack_box(a, ctx.block_id().x, limits);
    const auto as_it_is = [](RunPlace place, int) { return place; };
    fill_runs(ctx, a.from, a.from_list, limits, const_cast<std::byte*>(a.src) + begin.src, src_runs,
              as_it_is);
    ctx.barrier();
    load(ctx, a, box, src_runs);
    ctx.commit_async();
    // While the vectors are on their way
    const PackPrefetches prefetches(ctx, a);
    const int length = run_bytes(a.to, a.to_list, limits);
    const auto prefetched = [&](RunPlace place, int left) {
      if (prefetches.any() && left == length) prefetches.of_run(ctx, place.at, length);
      return place;
    };
    fill_runs(ctx, a.to, a.to_list, limits, a.dst + begin.dst, dst_runs, prefetched);
    fill_table<Dst>(ctx, a, table);
    ctx.barrier();
    store(ctx, a, box, dst_runs, table);
  }

  template <class Ctx>
  CT_DEVICE static void load(Ctx& ctx, const PackArgs& a, SharedPointer<std::uint8_t> buffer,
                             RunTable runs) {
    const std::uint32_t thread = ctx.thread_id().x;
    const std::uint32_t vectors = a.from.vectors.divisor;
    const std::uint32_t first = a.from.vectors.quotient(thread);
    const auto v = static_cast<int>((thread - first * vectors) * 16);
    const auto to = buffer + (v + (v >> a.line_shift) * 16);
    if (first >= a.at_once) return;
    bool cut = false;  // some vector has elements beyond its run's last
    CT_PARTLY_UNROLL
    for (std::uint32_t n = first; n < a.from.runs; n += a.at_once) {
      const RunPlace place = ctx.load(runs + n);
      ctx.copy_line_async_if(v + 16 <= place.bytes, a.through_l1, cast<Words>(to + place.shared),
                             reinterpret_cast<const Words*>(place.at + v));
      cut |= v < place.bytes && v + 16 > place.bytes;
    }
    CT_NO_UNROLL
    for (std::uint32_t n = first; cut && n < a.from.runs; n += a.at_once) {
      const RunPlace place = ctx.load(runs + n);
      if (v + 16 <= place.bytes) continue;
      CT_NO_UNROLL
      for (int at = v; at < place.bytes; at += static_cast<int>(sizeof(Src))) {
        ctx.store(cast<Src>(to + (place.shared + at - v)),
                  ctx.load(reinterpret_cast<const Src*>(place.at + at)));
      }
    }
  }

  template <class Ctx>
  CT_DEVICE static void store(Ctx& ctx, const PackArgs& a, SharedPointer<std::uint8_t> buffer,
                              RunTable runs, SharedPointer<std::uint16_t> table) {
    // Some neighbours in a run, then the runs, then the other neighbours.
    const std::uint32_t thread = ctx.thread_id().x;
    const std::uint32_t group = a.across.quotient(thread);
    const std::uint32_t column = a.down.quotient(group);
    const std::uint32_t first = group - column * a.down.divisor;
    const std::uint32_t v = thread - group * a.across.divisor + column * a.across.divisor;
    const bool mine = v < a.to.vectors.divisor;
    const std::uint32_t rotation = V < 4 ? 0 : a.rotation_of(thread % 32);
    const std::uint32_t periods = a.period.quotient(v * V);
    const auto entry = table + (v * V - periods * a.period.divisor);
    // Lanes rotate quarters of their vectors.
    constexpr unsigned quarter = V < 4 ? V : V / 4;
    const auto base = buffer + static_cast<int>(periods) * a.last_stride;
    SharedPointer<std::uint8_t> from[V];
    CT_UNROLL
    for (unsigned k = 0; k < V; k += quarter) {
      const auto places = entry + PackArgs::rotated(k, rotation, V);
      CT_UNROLL
      for (unsigned i = 0; i < quarter; ++i) from[k + i] = base + ctx.load_if(mine, places + i);
    }
    ctx.template wait_async<0>();
    ctx.barrier();
    if (!mine) return;
    const auto begin = static_cast<int>(v * 16);
    CT_PARTLY_UNROLL
    for (std::uint32_t n = first; n < a.to.runs; n += a.down.divisor) {
      const RunPlace place = ctx.load(runs + n);
      std::byte* const to = place.at + begin;
      const int left = place.bytes - begin;
      Src elements[V];
      if (left >= 16) {
        CT_UNROLL
        for (int k = 0; k < V; ++k) elements[k] = ctx.load(cast<Src>(from[k] + place.shared));
        ctx.store(reinterpret_cast<Words*>(to), vector_of(a, elements, rotation));
      } else if (left > 0) {
        CT_UNROLL
        for (unsigned k = 0; k < V; ++k) {
          const auto which = static_cast<int>(PackArgs::rotated(k, rotation, V));
          elements[k] = ctx.load_if(which * size < left, cast<Src>(from[k] + place.shared));
        }
        store_first<size>(ctx, to, vector_of(a, elements, rotation), left);
      }
    }
  }

  /// The vector of a lane's elements, put in order where the lane began with another one.
  CT_DEVICE static Words vector_of(const PackArgs& a, const Src (&elements)[V], unsigned rotation) {
    const Words words = change<Change>(a, elements);
    const bool rotates = V >= 4 && a.rotation_shift != PackArgs::no_rotation;
    return rotates ? rotated_words(words, rotation) : words;
  }
};

}  // namespace cornerturn::kernels
