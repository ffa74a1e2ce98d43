// gather: one element after the other, in the order of the destination. Takes every problem; the
// kernel that the others are compared with.
#pragma once

#include <cstdint>

#include "kernels/context.hpp"
#include "kernels/elements.hpp"
#include "kernels/walk.hpp"

namespace cornerturn::kernels {

struct GatherArgs {
  struct Mode {
    FastDivide narrow;  ///< its extent, for problems of less than 2^31 elements
    FastDivide64 wide;  ///< and for all others
    std::int64_t src_stride = 0;
    std::int64_t dst_stride = 0;
  };

  const std::byte* src = nullptr;
  std::byte* dst = nullptr;
  std::int64_t elements = 0;
  int element_bytes = 1;
  int rank = 0;
  Mode mode[max_axes];  ///< the destination's fastest first

  /// Where element number `n` of the destination's order comes from and goes to.
  template <class Index>
  CT_HOST_DEVICE constexpr Offsets at(Index n) const {
    Offsets offsets;
    for (int i = 0; i < rank; ++i) {
      const Mode& m = mode[i];
      Index rest, extent;
      if constexpr (sizeof(Index) == 4) {
        rest = m.narrow.quotient(n);
        extent = m.narrow.divisor;
      } else {
        rest = m.wide.quotient(n);
        extent = m.wide.divisor;
      }
      const auto index = static_cast<std::int64_t>(n - rest * extent);
      offsets.src += index * m.src_stride;
      offsets.dst += index * m.dst_stride;
      n = rest;
    }
    return offsets;
  }
};

template <class T, class Index>
struct Gather {
  static constexpr int threads = 256;
  static constexpr int min_blocks = 4;
  static constexpr int of_thread = 4;  ///< elements in flight

  template <class Ctx>
  CT_DEVICE static void run(Ctx& ctx, const GatherArgs& a) {
    const auto all = static_cast<Index>(a.elements);
    const Index step = Index{ctx.grid_dim().x} * (threads * of_thread);
    for (Index first = Index{ctx.block_id().x} * (threads * of_thread); first < all;
         first += step) {
      T v[of_thread];
      Offsets at[of_thread];
      CT_UNROLL
      for (int i = 0; i < of_thread; ++i) {
        const Index n = first + static_cast<Index>(thread_of(ctx) + i * threads);
        at[i] = a.at(n);
        v[i] = ctx.load_if(n < all, reinterpret_cast<const T*>(a.src + at[i].src));
      }
      CT_UNROLL
      for (int i = 0; i < of_thread; ++i) {
        const Index n = first + static_cast<Index>(thread_of(ctx) + i * threads);
        ctx.store_if(n < all, reinterpret_cast<T*>(a.dst + at[i].dst), v[i]);
      }
    }
  }
};

template <class Visit>
void dispatch(const GatherArgs& a, Visit&& visit) {
  with_element(a.element_bytes, [&]<class T>(T) {
    if (a.elements < (std::int64_t{1} << 30)) {
      visit.template operator()<Gather<T, std::uint32_t>>();
    } else {
      visit.template operator()<Gather<T, std::uint64_t>>();
    }
  });
}

}  // namespace cornerturn::kernels
