// Floating-point formats of 16 and 8 bits: their values, and how a double is rounded to one.
#pragma once

#include "cornerturn_guest_math.hpp"

namespace cornerturn::guest {

enum class Rounding { nearest, toward_zero, up, down };

// A format of a sign, an exponent and a fraction. Infinity stands where the exponent is all ones;
// e4m3 alone has none, and only one NaN on either side.
struct HalfFormat {
  static constexpr int exponent_bits = 5, fraction_bits = 10;
  static constexpr bool has_infinity = true;
  static constexpr unsigned nan = 0x7fff;
};
struct Bfloat16Format {
  static constexpr int exponent_bits = 8, fraction_bits = 7;
  static constexpr bool has_infinity = true;
  static constexpr unsigned nan = 0x7fff;
};
struct E5m2Format {
  static constexpr int exponent_bits = 5, fraction_bits = 2;
  static constexpr bool has_infinity = true;
  static constexpr unsigned nan = 0x7f;
};
struct E4m3Format {
  static constexpr int exponent_bits = 4, fraction_bits = 3;
  static constexpr bool has_infinity = false;
  static constexpr unsigned nan = 0x7f;
};

// The bits of the largest finite value.
template <class F>
constexpr unsigned largest_finite = F::has_infinity
                                        ? (((1u << F::exponent_bits) - 1) << F::fraction_bits) - 1
                                        : F::nan - 1;

// The bits of `v` in the format, without its sign, as if exponents had no end. What is cut off
// decides by the mode whether one is added.
template <class F>
CT_GUEST_PLAIN unsigned rounded_magnitude(std::uint64_t bits, Rounding mode) {
  constexpr int bias = (1 << (F::exponent_bits - 1)) - 1;
  const bool negative = bits >> 63 != 0;
  const int exponent = static_cast<int>(bits >> 52 & 0x7ff) - 1023;
  const std::uint64_t fraction = bits & 0xfffffffffffffull;
  if (exponent == -1023 && fraction == 0) {
    return 0;
  }
  const std::uint64_t significand = fraction | 1ull << 52;
  const int lacking = exponent < 1 - bias ? 1 - bias - exponent : 0;
  const int all = 52 - F::fraction_bits + lacking;
  const int shift = all < 62 ? all : 62;
  const std::uint64_t kept = significand >> shift;
  const std::uint64_t cut = significand & ((1ull << shift) - 1);
  const std::uint64_t middle = 1ull << (shift - 1);
  const bool away = mode == Rounding::nearest ? cut > middle || (cut == middle && (kept & 1) != 0)
                    : mode == Rounding::up    ? cut != 0 && !negative
                    : mode == Rounding::down  ? cut != 0 && negative
                                              : false;
  const std::uint64_t magnitude =
      lacking != 0 ? kept
                   : kept + (static_cast<std::uint64_t>(exponent + bias - 1) << F::fraction_bits);
  return static_cast<unsigned>(magnitude) + (away ? 1 : 0);
}

// What lies beyond the largest finite value becomes it where the mode rounds towards zero, or where
// `saturate` asks for it, and otherwise infinity, or the NaN of a format without one.
template <class F>
CT_GUEST_PLAIN unsigned encode(double v, Rounding mode = Rounding::nearest, bool saturate = false) {
  std::uint64_t bits;
  __builtin_memcpy(&bits, &v, sizeof(bits));
  if (v != v) {
    return F::nan;
  }
  const bool negative = bits >> 63 != 0;
  const unsigned sign = negative ? 1u << (F::exponent_bits + F::fraction_bits) : 0u;
  const bool infinite = (bits >> 52 & 0x7ff) == 0x7ff;
  const unsigned magnitude = infinite ? ~0u : rounded_magnitude<F>(bits, mode);
  if (magnitude <= largest_finite<F>) {
    return sign | magnitude;
  }
  const bool inwards = mode == Rounding::toward_zero || (mode == Rounding::up && negative) ||
                       (mode == Rounding::down && !negative);
  if (saturate || (inwards && !infinite)) {
    return sign | largest_finite<F>;
  }
  return sign | (F::has_infinity ? largest_finite<F> + 1 : F::nan);
}

// Every value of these formats is a float.
template <class F>
CT_GUEST_PLAIN float decode(unsigned bits) {
  constexpr int width = F::exponent_bits + F::fraction_bits;
  constexpr int bias = (1 << (F::exponent_bits - 1)) - 1;
  const unsigned magnitude = bits & ((1u << width) - 1);
  const unsigned sign = (bits >> width & 1u) << 31;
  if (magnitude > largest_finite<F>) {
    const bool infinite = F::has_infinity && magnitude == largest_finite<F> + 1;
    return __uint_as_float(sign | (infinite ? 0x7f800000u : 0x7fffffffu));
  }
  if constexpr (F::exponent_bits == 8) {
    return __uint_as_float(sign | magnitude << (23 - F::fraction_bits));
  } else {
    // The exponent is read as a float's and then corrected by a product, subnormal values included.
    const float scaled = __uint_as_float(magnitude << (23 - F::fraction_bits));
    const float correct = __uint_as_float(static_cast<unsigned>(254 - bias) << 23);
    return __uint_as_float(sign | __float_as_uint(scaled * correct));
  }
}

// a + b in a double whose last bit is one where the sum is not exact. Rounding that once more gives
// what rounding the exact sum gives.
CT_GUEST_PLAIN inline double odd_sum(double a, double b) {
  const double sum = a + b;
  if (!(__builtin_fabs(sum) <= DBL_MAX)) {
    return sum;
  }
  const double of_b = sum - a;
  const double error = (a - (sum - of_b)) + (b - of_b);
  long long bits = __double_as_longlong(sum);
  if (error != 0 && (bits & 1) == 0) {
    bits += (error > 0) == (sum > 0) ? 1 : -1;
  }
  return __longlong_as_double(bits);
}
CT_GUEST_PLAIN inline double odd_integer(unsigned long long v) {
  unsigned long long lost = 0;
  int shift = 0;
  for (; v >> 53 != 0; ++shift) {
    lost |= v & 1;
    v >>= 1;
  }
  return __builtin_ldexp(static_cast<double>(v | (lost & (shift != 0 ? 1 : 0))), shift);
}
template <class T>
CT_GUEST_PLAIN double as_odd_double(T v) {
  if constexpr (std::is_integral_v<T>) {
    const auto wide = static_cast<unsigned long long>(v);
    return v < 0 ? -odd_integer(0 - wide) : odd_integer(wide);
  } else {
    return static_cast<double>(v);
  }
}

}  // namespace cornerturn::guest
