// gather: one element after the other, in the order of the destination. Takes every problem; the
// kernel that the others are compared with.
#pragma once

#include <cstdint>

#include "kernels/context.hpp"
#include "kernels/elements.hpp"
#include "kernels/walk.hpp"

namespace cornerturn::kernels {

struct GatherArgs {
  const std::byte* src = nullptr;
  std::byte* dst = nullptr;
  std::int64_t elements = 0;
  int element_bytes = 1;
  bool single = false;  ///< one element a thread, for problems that do not fill the GPU
  Walk mode;            ///< the destination's fastest first; axes beyond its rank have one index
  FastDivide64 wide[max_axes];  ///< extents, for problems of 2^30 elements or more

  /// Where element number `n` of the destination's order comes from and goes to. The first `known`
  /// axes are taken without a look at the rank: none waits for another one's arguments.
  template <int known, class Index>
  CT_HOST_DEVICE constexpr Offsets at(Index n) const {
    Offsets offsets;
    CT_UNROLL
    for (int i = 0; i < known; ++i) take(i, n, offsets);
    for (int i = known; i < mode.rank; ++i) take(i, n, offsets);
    return offsets;
  }

 private:
  template <class Index>
  CT_HOST_DEVICE constexpr void take(int i, Index& n, Offsets& offsets) const {
    const Axis& axis = mode.axis[i];
    Index rest, extent;
    if constexpr (sizeof(Index) == 4) {
      rest = axis.count.quotient(n);
      extent = axis.count.divisor;
    } else {
      rest = wide[i].quotient(n);
      extent = wide[i].divisor;
    }
    const auto index = static_cast<std::int64_t>(n - rest * extent);
    offsets.src += index * axis.src_step;
    offsets.dst += index * axis.dst_step;
    n = rest;
  }
};

template <class T, class Index, int of_thread>
struct Gather {
  static constexpr int threads = 256;
  static constexpr int min_blocks = 4;
  static constexpr int known_axes = of_thread == 1 ? 4 : 0;

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
        at[i] = a.at<known_axes>(n);
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
    if (a.single) {
      visit.template operator()<Gather<T, std::uint32_t, 1>>();
    } else if (a.elements < (std::int64_t{1} << 30)) {
      visit.template operator()<Gather<T, std::uint32_t, 4>>();
    } else {
      visit.template operator()<Gather<T, std::uint64_t, 4>>();
    }
  });
}

}  // namespace cornerturn::kernels
