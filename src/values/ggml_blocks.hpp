// ggml's blocks of 4 and 5 bits: how values become codes, and come back, with the bits that the
// gguf package makes. Each operation is rounded to f32.
//
//   q4_0     d = extreme / -8 as f16        x / d + 8.5, cut off, at most 15        18 bytes
//   q4_1     d = (most - least) / 15, m     (x - least) / d + 0.5, at most 15       20
//   q5_0     d = extreme / -16              x / d + 16.5, at most 31                22
//   q5_1     d = (most - least) / 31, m     (x - least) / d + 0.5, at most 31       24
//   iq4_nl   d = extreme / -127, fitted     the nearest of 16 values                18
//   mxfp4    2^(floor(log2 amax) - 2)       the nearest e2m1                        17
//   nvfp4    amax / 6 of 16 values          the nearest e2m1                        36 for 64
//
// The extreme is the value of the largest magnitude, with its sign; it divides as a product with
// the reciprocal. In a block, and in 16 values of nvfp4, code i shares a byte with the one half of
// it further on; the former is in the lower half. What a block becomes that holds an infinity or a
// NaN means nothing.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>

#include "values/blocks.hpp"

namespace cornerturn::values::ggml {

/// Numbers of a block that are stored in front of its codes.
struct Head {
  float d;        ///< the step, before it is rounded to f16
  float least;    ///< what is added to multiples of the step
  float inverse;  ///< by what values are multiplied
};

inline float extreme_of(const float* x, int count) {
  float extreme = x[0];
  for (int i = 1; i < count; ++i) {
    if (magnitude_of(x[i]) > magnitude_of(extreme)) extreme = x[i];
  }
  return extreme;
}

inline float inverse_of(float d) {
  return d == 0.0F ? 0.0F : quotient(1.0F, d);
}

/// For 2^bits steps on both sides of 0.
inline Head signed_head(const float* x, int count, int bits) {
  const float d = quotient(extreme_of(x, count), -static_cast<float>(1 << (bits - 1)));
  return {d, 0.0F, inverse_of(d)};
}

/// For 2^bits steps from the least value on.
inline Head least_head(const float* x, int count, int bits) {
  float least = x[0], most = x[0];
  for (int i = 1; i < count; ++i) {
    if (x[i] < least) least = x[i];
    if (x[i] > most) most = x[i];
  }
  const float d = quotient(sum(most, -least), static_cast<float>((1 << bits) - 1));
  return {d, least, inverse_of(d)};
}

/// The number without its fraction, at most `most`; 0 for what no code stands for.
inline int cut_off(float number, int most) {
  if (!(number >= 0.0F && number < 256.0F)) return 0;
  const int whole = static_cast<int>(number);
  return whole < most ? whole : most;
}

inline int signed_code(float x, const Head& head, int bits) {
  const float half = static_cast<float>(1 << (bits - 1)) + 0.5F;
  return cut_off(sum(product(x, head.inverse), half), (1 << bits) - 1);
}
inline int least_code(float x, const Head& head, int bits) {
  return cut_off(sum(product(sum(x, -head.least), head.inverse), 0.5F), (1 << bits) - 1);
}

/// The values that iq4_nl numbers.
inline constexpr std::int8_t iq4_values[16] = {-127, -104, -83, -65, -49, -35, -22, -10,
                                               1,    13,   25,  38,  53,  69,  89,  113};

/// The number of the nearest of them; of two, the upper.
inline int iq4_code(float x) {
  int code = 0;
  while (code < 15 &&
         product(2.0F, x) >= static_cast<float>(iq4_values[code] + iq4_values[code + 1])) {
    ++code;
  }
  return code;
}

/// The step of iq4_nl that suits the codes of a block best, where errors count as much as values
/// are large; the codes are those of the extreme.
inline float iq4_step(const float* x, int count, int* codes) {
  const float extreme = extreme_of(x, count);
  std::memset(codes, 0, sizeof(int) * static_cast<std::size_t>(count));
  if (!(magnitude_of(extreme) >= bits_as<std::uint32_t>(1e-15F))) return 0.0F;
  const float inverse = quotient(1.0F, quotient(extreme, -127.0F));
  float both = 0, squares = 0;
  for (int i = 0; i < count; ++i) {
    codes[i] = iq4_code(product(inverse, x[i]));
    const auto value = static_cast<float>(iq4_values[codes[i]]);
    const float weighted = product(product(x[i], x[i]), value);
    both = sum(both, product(weighted, x[i]));
    squares = sum(squares, product(weighted, value));
  }
  return squares > 0.0F ? quotient(both, squares) : 0.0F;
}

/// Half of the scale that an E8M0 code of ggml stands for: values are stored twice as large.
inline float mxfp4_half(std::uint8_t code) {
  return bits_as<float>(code < 2 ? 0x00200000U << code
                                 : (static_cast<std::uint32_t>(code) - 1U) << 23);
}
inline std::uint8_t mxfp4_scale(float amax) {
  if (!(amax > 0.0F) || amax > bits_as<float>(f32_infinity - 1)) return 0;
  // The logarithm is rounded to f32 before its fraction is cut off.
  const auto rounded = static_cast<float>(std::log2(static_cast<double>(amax)));
  const float code = std::floor(rounded) - 2.0F + 127.0F;
  return static_cast<std::uint8_t>(code < 0.0F ? 0.0F : code);
}

/// Half of the scale that seven bits of e4m3 stand for.
inline float ue4m3_half(std::uint8_t code) {
  if (code == 0 || code == 0x7f) return 0.0F;
  const int exponent = code >> 3 & 15;
  const auto mantissa = static_cast<float>(code & 7);
  const float value =
      exponent == 0 ? std::ldexp(mantissa, -9) : std::ldexp(1.0F + mantissa / 8.0F, exponent - 7);
  return 0.5F * value;
}
/// To the nearest of them, ties up, at most 448.
inline std::uint8_t ue4m3_of(float x) {
  if (!(x > 0.0F)) return 0;
  if (x >= 448.0F) return 0x7e;
  const auto bits = bits_as<std::uint32_t>(x);
  const int exponent = static_cast<int>(bits >> 23) - 127 + 7;
  if (exponent <= 0) {
    const int code = static_cast<int>(sum(product(x, 512.0F), 0.5F));
    return static_cast<std::uint8_t>(code < 7 ? code : 7);
  }
  const auto code = ((static_cast<std::uint32_t>(exponent) << 4 | (bits >> 19 & 15U)) + 1U) >> 1;
  return static_cast<std::uint8_t>(code < 0x7e ? code : 0x7e);
}

/// Twice the values of e2m1.
inline constexpr std::int8_t e2m1_twice[16] = {0, 1,  2,  3,  4,  6,  8,  12,
                                               0, -1, -2, -3, -4, -6, -8, -12};

/// The code whose product with `half` is the nearest to x; of two, the smaller magnitude.
inline int nearest_e2m1(float x, float half) {
  const int sign = x < 0.0F ? 8 : 0;
  int best = 0;
  float least = magnitude_of(x) > f32_infinity ? 0.0F : (x < 0.0F ? -x : x);
  for (int code = 1; code < 8; ++code) {
    const float distance = sum(product(half, static_cast<float>(e2m1_twice[sign + code])), -x);
    const float error = distance < 0.0F ? -distance : distance;
    if (error < least) {
      least = error;
      best = sign + code;
    }
  }
  return best;
}

}  // namespace cornerturn::values::ggml
