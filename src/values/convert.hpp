// One value of one type becomes one of another: rounded once, to nearest even, with the NaNs that
// NumPy and ml_dtypes make. Shared by GPU kernels, the emulator and the CPU: integers, additions
// and selections alone, nothing of libm, and hardly a branch.
//
// Everything narrower than f32 goes through f32, which holds it exactly. What f32 cannot hold (f64,
// wide integers) first becomes the f32 that "rounding to odd" gives: an inexact value ends in a bit
// that is set, so that the rounding that follows sees on which side of a tie it lies.
#pragma once

#include <cstdint>
#include <limits>
#include <type_traits>

#include "cornerturn/epilogue.hpp"
#include "maps/host_device.hpp"
#include "values/types.hpp"

namespace cornerturn::values {

template <class To, class From>
CT_HOST_DEVICE constexpr To bits_as(From value) {
  static_assert(sizeof(To) == sizeof(From));
  return __builtin_bit_cast(To, value);
}

inline constexpr std::uint32_t f32_infinity = 0x7f800000U;
inline constexpr std::uint32_t f32_nan = 0x7fc00000U;
inline constexpr std::uint64_t f64_infinity = 0x7ff0000000000000U;
inline constexpr std::uint64_t f64_nan = 0x7ff8000000000000U;

CT_HOST_DEVICE constexpr bool is_nan(float x) {
  return x != x;
}
CT_HOST_DEVICE constexpr bool is_nan(double x) {
  return x != x;
}

/// A small float as f32, exactly. NaNs of f16 and bf16 keep their payload.
template <class T>
CT_HOST_DEVICE constexpr float widen(T value) {
  using F = FormatOf<T>;
  constexpr int shift = 23 - F::mantissa_bits;
  const std::uint32_t magnitude = value.bits & (F::sign - 1);
  const std::uint32_t sign = (value.bits & F::sign) ? 0x80000000U : 0;
  std::uint32_t bits = magnitude << shift;
  if constexpr (F::exponent_bits != 8) {
    constexpr std::uint32_t rebias = static_cast<std::uint32_t>(127 - F::bias) << 23;
    // A denormal is what its fraction adds to the smallest normal value.
    constexpr std::uint32_t smallest = rebias + (1U << 23);
    const auto denormal =
        bits_as<std::uint32_t>(bits_as<float>(bits + smallest) - bits_as<float>(smallest));
    const bool plain = F::infinity && (std::is_same_v<T, F16> || magnitude == F::overflow);
    const std::uint32_t beyond = plain ? (bits & 0x007fffffU) | f32_infinity : f32_nan;
    bits = magnitude < (1U << F::mantissa_bits) ? denormal
           : magnitude > F::largest             ? beyond
                                                : bits + rebias;
  }
  return bits_as<float>(bits | sign);
}

/// The NaN that one of f32 becomes: f16 keeps the upper bits of the payload, the others none.
template <class T>
CT_HOST_DEVICE constexpr std::uint32_t narrow_nan(std::uint32_t magnitude) {
  if constexpr (std::is_same_v<T, F16>) {
    const std::uint32_t code = magnitude >> 13 & 0x3ffU;
    return 0x7c00U | (code == 0 ? 1U : code);
  } else if constexpr (std::is_same_v<T, E4M3>) {
    return 0x7fU;
  } else {
    return FormatOf<T>::overflow | (1U << (FormatOf<T>::mantissa_bits - 1));
  }
}

/// What `code`, which may lie beyond the largest finite value, stands for.
template <class T>
CT_HOST_DEVICE constexpr T narrow_result(std::uint32_t code, std::uint32_t f32_bits,
                                         Overflow overflow) {
  using F = FormatOf<T>;
  const std::uint32_t magnitude = f32_bits & 0x7fffffffU;
  const std::uint32_t limit = overflow == Overflow::saturate ? F::largest : F::overflow;
  code = code < limit ? code : limit;
  code = magnitude > f32_infinity ? narrow_nan<T>(magnitude) : code;
  const std::uint32_t sign = f32_bits >> 31 << (F::exponent_bits + F::mantissa_bits);
  return T{static_cast<decltype(T::bits)>(code | sign)};
}

#if defined(__CUDA_ARCH__)
/// Does this GPU round f32 to a T by one instruction?
template <class T>
inline constexpr bool has_instruction = __CUDA_ARCH__ >= (sizeof(T) == 1 ? 890 : 800);

/// Two values by one instruction, the first in the lower half; see narrow_by_instruction().
template <class T>
__device__ inline std::uint32_t narrow_pair(float first, float second) {
  std::uint32_t word = 0;
  std::uint16_t half = 0;
  if constexpr (std::is_same_v<T, F16>) {
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(word) : "f"(second), "f"(first));
    return word;
  } else if constexpr (std::is_same_v<T, BF16>) {
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(word) : "f"(second), "f"(first));
    return word;
  } else if constexpr (std::is_same_v<T, E4M3>) {
    asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(half) : "f"(second), "f"(first));
  } else {
    asm("cvt.rn.satfinite.e5m2x2.f32 %0, %1, %2;" : "=h"(half) : "f"(second), "f"(first));
  }
  return half;
}

/// Is there an instruction that widens two Ts to f32, exactly but for the bits of NaNs?
template <class T>
inline constexpr bool has_widening = std::is_same_v<T, F16> ||
                                     (std::is_same_v<T, E4M3> && __CUDA_ARCH__ >= 890);

/// Two values, the first in the lowest bits.
template <class T>
__device__ inline void widen_pair(std::uint32_t bits, float& first, float& second) {
  std::uint32_t halves = bits;
  if constexpr (std::is_same_v<T, E4M3>) {
    asm("cvt.rn.f16x2.e4m3x2 %0, %1;" : "=r"(halves) : "h"(static_cast<std::uint16_t>(bits)));
  }
  asm("cvt.f32.f16 %0, %1;" : "=f"(first) : "h"(static_cast<std::uint16_t>(halves)));
  asm("cvt.f32.f16 %0, %1;" : "=f"(second) : "h"(static_cast<std::uint16_t>(halves >> 16)));
}

/// narrow(): the instructions differ from it in their NaNs alone, and those to 8 bits saturate.
template <class T>
__device__ inline T narrow_by_instruction(float value, Overflow overflow) {
  using F = FormatOf<T>;
  std::uint16_t code = 0;
  if constexpr (std::is_same_v<T, F16>) {
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(code) : "f"(value));
  } else if constexpr (std::is_same_v<T, BF16>) {
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(code) : "f"(value));
  } else if constexpr (std::is_same_v<T, E4M3>) {
    asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(code) : "f"(0.0F), "f"(value));
  } else {
    asm("cvt.rn.satfinite.e5m2x2.f32 %0, %1, %2;" : "=h"(code) : "f"(0.0F), "f"(value));
  }
  const auto bits = bits_as<std::uint32_t>(value);
  const std::uint32_t sign = bits >> 31 << (F::exponent_bits + F::mantissa_bits);
  std::uint32_t result = code;
  if constexpr (sizeof(T) == 1) {
    // What is beyond: 464, a tie, still becomes 448; 61440, a tie, is infinite.
    const float size = value < 0 ? -value : value;
    const bool beyond = std::is_same_v<T, E4M3> ? size > 464.0F : size >= 61440.0F;
    if (overflow == Overflow::standard && beyond) result = F::overflow | sign;
  } else if (overflow == Overflow::saturate) {
    result = (result & (F::sign - 1)) == F::overflow ? F::largest | sign : result;
  }
  if (is_nan(value)) result = narrow_nan<T>(bits & 0x7fffffffU) | sign;
  return T{static_cast<decltype(T::bits)>(result)};
}
#endif

/// f32 to a small float, to nearest even.
template <class T>
CT_HOST_DEVICE constexpr T narrow(float value, Overflow overflow) {
#if defined(__CUDA_ARCH__)
  if constexpr (has_instruction<T>) return narrow_by_instruction<T>(value, overflow);
#endif
  using F = FormatOf<T>;
  constexpr int shift = 23 - F::mantissa_bits;
  constexpr std::uint32_t rebias = static_cast<std::uint32_t>(127 - F::bias) << 23;
  const auto bits = bits_as<std::uint32_t>(value);
  const std::uint32_t magnitude = bits & 0x7fffffffU;
  const std::uint32_t odd = magnitude >> shift & 1U;
  std::uint32_t code = (magnitude - rebias + (1U << (shift - 1)) - 1 + odd) >> shift;
  if constexpr (F::exponent_bits != 8) {
    // Added to a value whose last bit is worth as much as that of a denormal, one is rounded by
    // the addition.
    constexpr std::uint32_t ruler = static_cast<std::uint32_t>(128 - F::bias + shift) << 23;
    const std::uint32_t denormal =
        bits_as<std::uint32_t>(bits_as<float>(magnitude) + bits_as<float>(ruler)) - ruler;
    code = magnitude < rebias + (1U << 23) ? denormal : code;
  }
  return narrow_result<T>(code, bits, overflow);
}

/// f32 to a small float, up where `random`, 32 bits, says so.
template <class T>
CT_HOST_DEVICE constexpr T narrow_stochastic(float value, std::uint32_t random, Overflow overflow) {
  using F = FormatOf<T>;
  constexpr int shift = 23 - F::mantissa_bits;
  constexpr std::uint32_t rebias = static_cast<std::uint32_t>(127 - F::bias) << 23;
  const auto bits = bits_as<std::uint32_t>(value);
  const std::uint32_t magnitude = bits & 0x7fffffffU;
  std::uint32_t code = (magnitude - rebias + (random & ((1U << shift) - 1))) >> shift;
  if constexpr (F::exponent_bits != 8) {
    if (magnitude < rebias + (1U << 23)) {
      // mantissa * 2^-drop denormals; of more than 32 bits to drop, the lowest don't count.
      const std::uint32_t exponent = magnitude >> 23;
      std::uint64_t mantissa = (magnitude & 0x007fffffU) | (exponent == 0 ? 0 : 1U << 23);
      int drop =
          151 - (exponent == 0 ? 1 : static_cast<int>(exponent)) - F::bias - F::mantissa_bits;
      const int lost = drop > 32 ? drop - 32 : 0;
      mantissa = lost > 24 ? 0 : mantissa >> lost;
      drop -= lost;
      code = static_cast<std::uint32_t>((mantissa + (random & ((std::uint64_t{1} << drop) - 1))) >>
                                        drop);
    }
  }
  return narrow_result<T>(code, bits, overflow);
}

/// f64 to f32, to nearest even; a NaN keeps the upper bits of its payload and is quiet.
CT_HOST_DEVICE constexpr float f32_of(double value, Overflow overflow) {
  const auto bits = bits_as<std::uint64_t>(value);
  const auto sign = static_cast<std::uint32_t>(bits >> 32 & 0x80000000U);
  if (is_nan(value)) {
    return bits_as<float>(sign | f32_nan | static_cast<std::uint32_t>(bits >> 29 & 0x007fffffU));
  }
  const std::uint64_t magnitude = bits & 0x7fffffffffffffffU;
  // From here on it rounds to infinity: the tie beyond the largest finite value.
  const bool beyond = magnitude >= 0x47effffff0000000U;
  const std::uint32_t limit = overflow == Overflow::saturate ? f32_infinity - 1 : f32_infinity;
  return beyond ? bits_as<float>(sign | limit) : static_cast<float>(value);
}

/// f64 to f32, to odd. The sign and the upper payload of a NaN are kept.
CT_HOST_DEVICE constexpr float f32_odd(double value) {
  const auto bits = bits_as<std::uint64_t>(value);
  if (is_nan(value)) {
    const auto payload = static_cast<std::uint32_t>(bits >> 29 & 0x007fffffU);
    return bits_as<float>(static_cast<std::uint32_t>(bits >> 32 & 0x80000000U) | f32_infinity |
                          (payload == 0 ? 1U : payload));
  }
  const float nearest = f32_of(value, Overflow::standard);
  const auto code = bits_as<std::uint32_t>(nearest);
  const auto back = static_cast<double>(nearest);
  if (back == value || (code & 1U) != 0) return nearest;
  const bool away = (bits_as<std::uint64_t>(back) & ~(std::uint64_t{1} << 63)) >
                    (bits & ~(std::uint64_t{1} << 63));
  return bits_as<float>(away ? code - 1 : code + 1);
}

/// f32 to f64, exactly; a NaN keeps its payload and is quiet.
CT_HOST_DEVICE constexpr double f64_of(float value) {
  const auto bits = bits_as<std::uint32_t>(value);
  if (is_nan(value)) {
    return bits_as<double>(static_cast<std::uint64_t>(bits & 0x80000000U) << 32 | f64_nan |
                           static_cast<std::uint64_t>(bits & 0x007fffffU) << 29);
  }
  return static_cast<double>(value);
}

/// An integer as f64: exact up to 2^53, beyond that to odd.
template <class S>
CT_HOST_DEVICE constexpr double f64_odd(S value) {
  if constexpr (sizeof(S) < 8) {
    return static_cast<double>(value);
  } else {
    bool negative = false;
    if constexpr (std::is_signed_v<S>) negative = value < 0;
    std::uint64_t magnitude = static_cast<std::uint64_t>(value);
    magnitude = negative ? 0 - magnitude : magnitude;
    const bool large = magnitude >> 53 != 0;
    const std::uint64_t upper = magnitude >> 11 | ((magnitude & 2047U) != 0 ? 1U : 0U);
    const double result = large ? static_cast<double>(static_cast<std::int64_t>(upper)) * 2048.0
                                : static_cast<double>(static_cast<std::int64_t>(magnitude));
    return negative ? -result : result;
  }
}

template <class T>
inline constexpr T least = std::numeric_limits<T>::min();
template <class T>
inline constexpr T most = std::numeric_limits<T>::max();
/// 2^(value bits of T): the first value that T is too small for.
template <class T, class Real>
inline constexpr Real too_large = static_cast<Real>(most<T> / 2 + 1) * 2;

/// f32 or f64 to an integer, towards zero; NaN becomes 0.
template <class D, class Real>
CT_HOST_DEVICE constexpr D integer_of(Real value, Overflow overflow) {
  if (overflow == Overflow::saturate) {
    if (is_nan(value)) return 0;
    if (value >= too_large<D, Real>) return most<D>;
    if (value <= static_cast<Real>(least<D>)) return least<D>;
    return static_cast<D>(value);
  }
  if constexpr (sizeof(D) <= 4) {
    // What 32 bits hold, which is nearly all there is, takes the short way.
    if (value > Real{-2147483648} && value < Real{2147483648}) {
      return static_cast<D>(static_cast<std::int32_t>(value));
    }
  }
  if constexpr (std::is_same_v<D, std::uint64_t>) {
    if (value >= too_large<std::int64_t, Real> && value < too_large<D, Real>) {
      return static_cast<D>(value);
    }
  }
  if (is_nan(value)) return 0;
  const bool inside =
      value >= -too_large<std::int64_t, Real> && value < too_large<std::int64_t, Real>;
  return static_cast<D>(inside ? static_cast<std::int64_t>(value) : least<std::int64_t>);
}

/// f32 or f64 to an integer, up or down as `random` says.
template <class D, class Real>
CT_HOST_DEVICE constexpr D integer_stochastic(Real value, std::uint32_t random, Overflow overflow) {
  constexpr Real whole = sizeof(Real) == 4 ? 8388608 : 4503599627370496;  // from here no fractions
  if (!(value > -whole && value < whole)) return integer_of<D>(value, overflow);
  auto down = static_cast<std::int64_t>(value);
  Real fraction = value - static_cast<Real>(down);
  if (fraction < 0) {
    down -= 1;
    fraction += 1;
  }
  const bool up = static_cast<Real>(random) * (Real{1} / Real{4294967296}) < fraction;
  return integer_of<D>(static_cast<Real>(down + (up ? 1 : 0)), overflow);
}

template <class D, class S>
CT_HOST_DEVICE constexpr D integer_of_integer(S value, Overflow overflow) {
  if (overflow == Overflow::saturate) {
    if constexpr (std::is_signed_v<S>) {
      if (value < 0) {
        if constexpr (!std::is_signed_v<D>) return 0;
        return static_cast<std::int64_t>(value) < static_cast<std::int64_t>(least<D>)
                   ? least<D>
                   : static_cast<D>(value);
      }
    }
    return static_cast<std::uint64_t>(value) > static_cast<std::uint64_t>(most<D>)
               ? most<D>
               : static_cast<D>(value);
  }
  return static_cast<D>(value);
}

/// f16 to f64, exactly; here a NaN keeps its payload as it is.
CT_HOST_DEVICE constexpr double f64_of(F16 value) {
  const std::uint64_t magnitude = value.bits & 0x7fffU;
  if (magnitude <= 0x7c00U) return static_cast<double>(widen(value));
  return bits_as<double>(static_cast<std::uint64_t>(value.bits & 0x8000U) << 48 | f64_infinity |
                         (magnitude & 0x3ffU) << 42);
}

/// The plain NaN of the same sign in place of any other.
CT_HOST_DEVICE constexpr float without_payload(float value) {
  const auto bits = bits_as<std::uint32_t>(value);
  return is_nan(value) ? bits_as<float>((bits & 0x80000000U) | f32_nan) : value;
}

/// No infinities where values saturate.
template <class T>
CT_HOST_DEVICE constexpr T finite(T value, Overflow overflow) {
  const T limit = most<T>;
  if (overflow != Overflow::saturate || is_nan(value)) return value;
  return value > limit ? limit : value < -limit ? -limit : value;
}

template <class D, class S>
CT_HOST_DEVICE constexpr D convert(S value, Overflow overflow);

/// Everything but 0 is true, also a NaN, for booleans and real numbers.
template <class S>
CT_HOST_DEVICE constexpr Boolean boolean_of(S value) {
  if constexpr (is_boolean<S>) {
    return Boolean{static_cast<std::uint8_t>(value.bits != 0)};
  } else if constexpr (is_small_float<S>) {
    return Boolean{static_cast<std::uint8_t>((value.bits & (FormatOf<S>::sign - 1)) != 0)};
  } else {
    return Boolean{static_cast<std::uint8_t>(value != S{0})};
  }
}

template <class D, class S>
CT_HOST_DEVICE constexpr D of_small_float(S value, Overflow overflow) {
  if constexpr (std::is_same_v<D, S>) {
    const std::uint32_t magnitude = value.bits & (FormatOf<S>::sign - 1);
    if (FormatOf<S>::infinity && overflow == Overflow::saturate &&
        magnitude == FormatOf<S>::overflow) {
      return S{static_cast<decltype(S::bits)>(value.bits - 1)};
    }
    return value;
  } else if constexpr (std::is_same_v<S, BF16> && std::is_same_v<D, F16>) {
    return convert<D>(without_payload(widen(value)), overflow);
  } else if constexpr (std::is_same_v<S, F16> && std::is_same_v<D, double>) {
    return finite(f64_of(value), overflow);
  } else {
    return convert<D>(widen(value), overflow);
  }
}

template <class D, class S>
CT_HOST_DEVICE constexpr D small_float_of(S value, Overflow overflow) {
  if constexpr (std::is_same_v<S, float>) {
    return narrow<D>(value, overflow);
  } else if constexpr (std::is_same_v<S, double>) {
    return narrow<D>(f32_odd(value), overflow);
  } else if constexpr (sizeof(S) <= 2) {
    return narrow<D>(static_cast<float>(value), overflow);
  } else {
    return narrow<D>(f32_odd(f64_odd(value)), overflow);
  }
}

/// `value` as a D, rounded once. Complex values become complex ones only.
template <class D, class S>
CT_HOST_DEVICE constexpr D convert(S value, Overflow overflow) {
  static_assert(converts<D, S>, "complex values become complex values only");
  if constexpr (is_complex<S>) {
    return D{convert<Real<D>>(value.re, overflow), convert<Real<D>>(value.im, overflow)};
  } else if constexpr (is_complex<D>) {
    return D{convert<Real<D>>(value, overflow), 0};
  } else if constexpr (is_boolean<D>) {
    return boolean_of(value);
  } else if constexpr (is_boolean<S>) {
    return convert<D>(boolean_of(value).bits, overflow);
  } else if constexpr (is_small_float<S>) {
    return of_small_float<D>(value, overflow);
  } else if constexpr (is_integer<S> && is_integer<D>) {
    return integer_of_integer<D>(value, overflow);
  } else if constexpr (is_integer<D>) {
    return integer_of<D>(value, overflow);
  } else if constexpr (is_small_float<D>) {
    return small_float_of<D>(value, overflow);
  } else if constexpr (is_integer<S>) {
    return static_cast<D>(value);
  } else if constexpr (std::is_same_v<S, D>) {
    return finite(value, overflow);
  } else if constexpr (std::is_same_v<D, float>) {
    return f32_of(value, overflow);
  } else {
    return finite(f64_of(value), overflow);
  }
}

/// Converts with stochastic rounding, by 32 random bits. `value` is f32 or f64; of f64, what f32
/// cannot hold counts as one bit on the way to a type narrower than f32.
template <class D, class S>
CT_HOST_DEVICE constexpr D convert_stochastic(S value, std::uint32_t random, Overflow overflow) {
  static_assert(std::is_floating_point_v<S>);
  if constexpr (is_small_float<D>) {
    if constexpr (std::is_same_v<S, float>) {
      return narrow_stochastic<D>(value, random, overflow);
    } else {
      return narrow_stochastic<D>(f32_odd(value), random, overflow);
    }
  } else if constexpr (is_integer<D>) {
    return integer_stochastic<D>(value, random, overflow);
  } else if constexpr (std::is_same_v<D, float> && std::is_same_v<S, double>) {
    const auto bits = bits_as<std::uint64_t>(value);
    const std::uint64_t magnitude = bits & 0x7fffffffffffffffU;
    // Normal values of f32, from its smallest up to 2^128.
    if (magnitude >= 0x3810000000000000U && magnitude < 0x47f0000000000000U) {
      const std::uint64_t kept = (bits + (random & 0x1fffffffU)) & ~std::uint64_t{0x1fffffff};
      return f32_of(bits_as<double>(kept), overflow);
    }
    return f32_of(value, overflow);
  } else {
    return convert<D>(value, overflow);
  }
}

}  // namespace cornerturn::values
