// Division by a number that is known before the launch: a multiplication and a shift.
#pragma once

#include <bit>
#include <cstdint>
#include <type_traits>

#include "maps/host_device.hpp"

namespace cornerturn {

namespace detail {
__extension__ using Uint128 = unsigned __int128;
}

/// The upper half of a * b.
template <class Unsigned>
CT_HOST_DEVICE constexpr Unsigned multiply_high(Unsigned a, Unsigned b) {
  static_assert(sizeof(Unsigned) == 4 || sizeof(Unsigned) == 8);
#if defined(__CUDA_ARCH__)
  if constexpr (sizeof(Unsigned) == 4) {
    return __umulhi(a, b);
  } else {
    return __umul64hi(a, b);
  }
#else
  using Wide = std::conditional_t<sizeof(Unsigned) == 4, std::uint64_t, detail::Uint128>;
  return static_cast<Unsigned>((Wide{a} * b) >> (8 * sizeof(Unsigned)));
#endif
}

/// n / divisor for 0 <= n < 2^(bits - 1), with Unsigned of 32 or 64 bits. The divisor is 2 or more
/// and is not kept; a default one gives 0.
template <class Unsigned>
struct Reciprocal {
  static constexpr int bits = static_cast<int>(8 * sizeof(Unsigned));

  Unsigned magic = 0;  // ceil(2^(bits + shift) / divisor)
  int shift = 0;

  constexpr Reciprocal() = default;
  constexpr explicit Reciprocal(Unsigned divisor) {
    if (divisor <= 1) return;
    using Wide = std::conditional_t<bits == 32, std::uint64_t, detail::Uint128>;
    shift = static_cast<int>(std::bit_width(static_cast<Unsigned>(divisor - 1))) - 1;
    magic = static_cast<Unsigned>(((Wide{1} << (bits + shift)) + divisor - 1) / divisor);
  }

  CT_HOST_DEVICE constexpr Unsigned quotient(Unsigned n) const {
    return multiply_high(n, magic) >> shift;
  }

  friend constexpr bool operator==(const Reciprocal&, const Reciprocal&) = default;
};

/// A division by every divisor, which it knows.
template <class Unsigned>
struct BasicFastDivide {
  Unsigned divisor = 1;
  Reciprocal<Unsigned> inverse;

  constexpr BasicFastDivide() = default;
  constexpr explicit BasicFastDivide(Unsigned d) : divisor(d), inverse(d) {}

  CT_HOST_DEVICE constexpr Unsigned quotient(Unsigned n) const {
    return divisor == 1 ? n : inverse.quotient(n);
  }

  friend constexpr bool operator==(const BasicFastDivide&, const BasicFastDivide&) = default;
};

using FastDivide = BasicFastDivide<std::uint32_t>;
using FastDivide64 = BasicFastDivide<std::uint64_t>;

}  // namespace cornerturn
