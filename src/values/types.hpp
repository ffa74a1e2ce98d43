// Element types as C++ types: what lies in memory, and what can be said of it at compile time.
#pragma once

#include <cstdint>
#include <type_traits>

#include "cornerturn/element_type.hpp"
#include "maps/host_device.hpp"

namespace cornerturn::values {

/// Types that C++ 20 has no name for, as their bits.
struct F16 {
  std::uint16_t bits;
  friend constexpr bool operator==(F16, F16) = default;
};
struct BF16 {
  std::uint16_t bits;
  friend constexpr bool operator==(BF16, BF16) = default;
};
struct E4M3 {
  std::uint8_t bits;
  friend constexpr bool operator==(E4M3, E4M3) = default;
};
struct E5M2 {
  std::uint8_t bits;
  friend constexpr bool operator==(E5M2, E5M2) = default;
};
/// Any value but 0 is true; 1 is what is written.
struct Boolean {
  std::uint8_t bits;
  friend constexpr bool operator==(Boolean, Boolean) = default;
};

template <class T>
struct Complex {
  T re;
  T im;
};

/// A floating-point type of at most 16 bits: sign, exponent, mantissa. `largest` is the code of the
/// largest finite value; the code after it is what overflow becomes: infinity, or NaN where there
/// is no infinity.
template <int exponent, int mantissa, bool has_infinity>
struct Format {
  static constexpr int exponent_bits = exponent;
  static constexpr int mantissa_bits = mantissa;
  static constexpr bool infinity = has_infinity;
  static constexpr int bias = (1 << (exponent - 1)) - 1;
  static constexpr std::uint32_t sign = 1U << (exponent + mantissa);
  static constexpr std::uint32_t largest =
      has_infinity ? (((1U << exponent) - 1) << mantissa) - 1 : sign - 2;
  static constexpr std::uint32_t overflow = largest + 1;
};

template <class T>
struct FormatOf;
template <>
struct FormatOf<F16> : Format<5, 10, true> {};
template <>
struct FormatOf<BF16> : Format<8, 7, true> {};
template <>
struct FormatOf<E4M3> : Format<4, 3, false> {};
template <>
struct FormatOf<E5M2> : Format<5, 2, true> {};

template <class T>
inline constexpr bool is_small_float = std::is_same_v<T, F16> || std::is_same_v<T, BF16> ||
                                       std::is_same_v<T, E4M3> || std::is_same_v<T, E5M2>;
template <class T>
inline constexpr bool is_float = is_small_float<T> || std::is_floating_point_v<T>;
template <class T>
inline constexpr bool is_boolean = std::is_same_v<T, Boolean>;
template <class T>
inline constexpr bool is_integer = std::is_integral_v<T>;
template <class T>
inline constexpr bool is_complex = false;
template <class T>
inline constexpr bool is_complex<Complex<T>> = true;

/// The lowest `size` bytes of a value's bits, 1, 2, 4 or 8, in the other order.
CT_HOST_DEVICE constexpr std::uint64_t bytes_swapped(std::uint64_t bits, int size) {
  bits = (bits & 0x00ff00ff00ff00ffU) << 8 | (bits >> 8 & 0x00ff00ff00ff00ffU);
  bits = (bits & 0x0000ffff0000ffffU) << 16 | (bits >> 16 & 0x0000ffff0000ffffU);
  bits = bits << 32 | bits >> 32;
  return bits >> 8 * (8 - size);
}

/// The type of the real part.
template <class T>
struct RealOf {
  using type = T;
};
template <class T>
struct RealOf<Complex<T>> {
  using type = T;
};
template <class T>
using Real = typename RealOf<T>::type;

/// Does f32 hold every value of T?
template <class T>
inline constexpr bool fits_f32 = is_small_float<T> || is_boolean<T> || std::is_same_v<T, float> ||
                                 (is_integer<T> && sizeof(T) <= 2);

/// In which the arithmetic between S and D is done.
template <class D, class S>
using Intermediate = std::conditional_t<fits_f32<Real<D>> && fits_f32<Real<S>>, float, double>;

/// Can a value of type S become one of type D?
template <class D, class S>
inline constexpr bool converts = is_complex<D> || !is_complex<S>;

template <class T>
struct Type {
  using type = T;
};

/// call(Type<T>()) for the type of `kind`, which is not Kind::bytes.
template <class Call>
CT_HOST_DEVICE constexpr decltype(auto) with_kind(Kind kind, Call&& call) {
  switch (kind) {
    case Kind::boolean:
      return call(Type<Boolean>());
    case Kind::i8:
      return call(Type<std::int8_t>());
    case Kind::i16:
      return call(Type<std::int16_t>());
    case Kind::i32:
      return call(Type<std::int32_t>());
    case Kind::i64:
      return call(Type<std::int64_t>());
    case Kind::u16:
      return call(Type<std::uint16_t>());
    case Kind::u32:
      return call(Type<std::uint32_t>());
    case Kind::u64:
      return call(Type<std::uint64_t>());
    case Kind::f16:
      return call(Type<F16>());
    case Kind::bf16:
      return call(Type<BF16>());
    case Kind::f32:
      return call(Type<float>());
    case Kind::f64:
      return call(Type<double>());
    case Kind::f8_e4m3:
      return call(Type<E4M3>());
    case Kind::f8_e5m2:
      return call(Type<E5M2>());
    case Kind::c64:
      return call(Type<Complex<float>>());
    case Kind::c128:
      return call(Type<Complex<double>>());
    case Kind::bytes:
    case Kind::u8:
      break;
  }
  return call(Type<std::uint8_t>());
}

}  // namespace cornerturn::values
