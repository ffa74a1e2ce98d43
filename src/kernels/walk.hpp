// Where a block's work begins: the block's number, taken apart into one index an axis.
#pragma once

#include <cstdint>

#include "kernels/context.hpp"
#include "maps/fast_divide.hpp"

namespace cornerturn::kernels {

/// Modes of extent 2 or more that any memory has room for.
inline constexpr int max_axes = 40;

/// This thread's number in its block of one dimension, where the compiler sees that it is not
/// negative: divisions by powers of two are shifts then.
template <class Ctx>
CT_DEVICE int thread_of(Ctx& ctx) {
  return static_cast<int>(ctx.thread_id().x);
}

/// Bytes from the first element of either side.
struct Offsets {
  std::int64_t src = 0;
  std::int64_t dst = 0;
};

/// `count` steps; each moves both sides by so many bytes.
struct Axis {
  FastDivide count;
  std::int64_t src_step = 0;
  std::int64_t dst_step = 0;
};

/// The axes of a launch, the one that neighbouring blocks differ in first.
struct Walk {
  int rank = 0;
  Axis axis[max_axes];

  /// The offsets of step number `n`.
  CT_HOST_DEVICE constexpr Offsets at(std::uint32_t n) const {
    Offsets offsets;
    for (int i = 0; i < rank; ++i) {
      const std::uint32_t rest = axis[i].count.quotient(n);
      const std::int64_t index = n - rest * axis[i].count.divisor;
      offsets.src += index * axis[i].src_step;
      offsets.dst += index * axis[i].dst_step;
      n = rest;
    }
    return offsets;
  }

  /// The same for several steps at once: their divisions do not wait for each other.
  template <int N>
  CT_HOST_DEVICE constexpr void at(const std::uint32_t (&n)[N], Offsets (&offsets)[N]) const {
    std::uint32_t left[N];
    for (int k = 0; k < N; ++k) {
      left[k] = n[k];
      offsets[k] = {};
    }
    for (int i = 0; i < rank; ++i) {
      const Axis step = axis[i];
      for (int k = 0; k < N; ++k) {
        const std::uint32_t rest = step.count.quotient(left[k]);
        const std::int64_t index = left[k] - rest * step.count.divisor;
        offsets[k].src += index * step.src_step;
        offsets[k].dst += index * step.dst_step;
        left[k] = rest;
      }
    }
  }
};

}  // namespace cornerturn::kernels
