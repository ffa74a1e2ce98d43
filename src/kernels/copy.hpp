// copy: one run of bytes. Every thread moves vectors of 16 bytes, the destination's aligned ones;
// where the source has another phase, each is shifted together from two.
#pragma once

#include <cstdint>

#include "kernels/context.hpp"
#include "kernels/unaligned.hpp"

namespace cornerturn::kernels {

struct CopyArgs {
  const std::byte* src = nullptr;
  std::byte* dst = nullptr;
  std::int64_t bytes = 0;
  int granule = 1;    ///< bytes: a divisor of both addresses and of `bytes`
  int in_flight = 1;  ///< vectors a thread: 1 or 2
};

template <int count>
struct CopyAligned {
  static constexpr int threads = 256;
  static constexpr int min_blocks = 8;

  template <class Ctx>
  CT_DEVICE static void run(Ctx& ctx, const CopyArgs& a) {
    const std::int64_t vectors = a.bytes / 16;
    const std::int64_t first =
        std::int64_t{ctx.block_id().x} * (threads * count) + ctx.thread_index();
    const auto* from = reinterpret_cast<const Element16*>(a.src) + first;
    auto* to = reinterpret_cast<Element16*>(a.dst) + first;
    Element16 v[count];
    CT_UNROLL
    for (int i = 0; i < count; ++i) {
      v[i] = ctx.load_if(first + i * threads < vectors, from + i * threads);
    }
    CT_UNROLL
    for (int i = 0; i < count; ++i) {
      ctx.store_if(first + i * threads < vectors, to + i * threads, v[i]);
    }
  }
};

template <int granule, int count>
struct CopyShifted {
  static constexpr int threads = 256;
  static constexpr int min_blocks = count == 1 ? 8 : 6;

  template <class Ctx>
  CT_DEVICE static void run(Ctx& ctx, const CopyArgs& a) {
    // Vector number k of the destination begins at byte 16 k - before; it comes from the vector
    // that begins `shift` bytes earlier in the source, and the next.
    const int before = phase_of(a.dst);
    const int shift = phase_of(a.src - before);
    const std::int64_t low = (before + shift + 15) / 16;
    const std::int64_t end = a.bytes + before + shift - (shift != 0 ? 16 : 0);
    const std::int64_t high = end / 16 > low ? end / 16 : low;

    const std::int64_t k =
        low + std::int64_t{ctx.block_id().x} * (threads * count) + ctx.thread_index();
    const auto* from = reinterpret_cast<const Element16*>(a.src - before - shift) + k;
    auto* to = reinterpret_cast<Element16*>(a.dst - before) + k;
    VectorPair pair[count];
    CT_UNROLL
    for (int i = 0; i < count; ++i) {
      const bool inside = k + i * threads < high;
      pair[i] = {ctx.load_if(inside, from + i * threads),
                 ctx.load_if(inside && shift != 0, from + i * threads + 1)};
    }
    CT_UNROLL
    for (int i = 0; i < count; ++i) {
      ctx.store_if(k + i * threads < high, to + i * threads, pair[i].template from<granule>(shift));
    }
    // What is left at both ends, less than three vectors each.
    if (ctx.block_id().x == 0 && ctx.warp() == 0) {
      const std::int64_t head = 16 * low - before < a.bytes ? 16 * low - before : a.bytes;
      for (std::int64_t at = ctx.lane(); at < head; at += 32) {
        ctx.store(a.dst + at, ctx.load(a.src + at));
      }
      for (std::int64_t at = 16 * high - before + ctx.lane(); at < a.bytes; at += 32) {
        ctx.store(a.dst + at, ctx.load(a.src + at));
      }
    }
  }
};

template <class Visit>
void dispatch(const CopyArgs& a, Visit&& visit) {
  const auto of_count = [&]<int count>() {
    if (a.granule >= 16) {
      visit.template operator()<CopyAligned<count>>();
    } else if (a.granule == 8) {
      visit.template operator()<CopyShifted<8, count>>();
    } else if (a.granule == 4) {
      visit.template operator()<CopyShifted<4, count>>();
    } else {
      visit.template operator()<CopyShifted<1, count>>();
    }
  };
  if (a.in_flight == 1) {
    of_count.template operator()<1>();
  } else {
    of_count.template operator()<2>();
  }
}

}  // namespace cornerturn::kernels
