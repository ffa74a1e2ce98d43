// Blocks of values that share a scale: how the scale follows from the largest magnitude, how a
// value is stored with it, and how it comes back. Shared by GPU kernels, the emulator and the CPU.
//
//   q8_0   (ggml) d = amax / 127 as f16, then 32 x int8: round(x * (1 / d)), 34 bytes in a row
//   MXFP8  (OCP)  2^e as E8M0, e4m3 or e5m2: x / 2^e, saturated; scales in an array of their own
//   MXFP4  (OCP)  the same with e2m1, two in a byte: the first in the lower half
//   FP8           s = max(amax, 1e-4) / 448 (e5m2: / 57344) as f32: x * (1 / s), saturated
//   NVFP4         s = amax / 6 * S as e4m3, S of the tensor: x * (S / s) as e2m1, saturated
//
// Each operation is rounded to f32. Magnitudes are compared as the bits of |x|, as f32: there an
// infinity is more than any number, and a NaN more than an infinity, so that one maximum over the
// block finds both.
//
//   the block holds      q8_0                   MXFP8, MXFP4               FP8            NVFP4
//   zeros alone          d = 0, values 0        2^-127, values 0           1e-4 / 448, 0  s = 0, 0
//   an infinity          d = inf, values 0: NaN counts as 2^128: saturates s = inf: NaN   saturates
//   a NaN                d = NaN, values 0: NaN scale NaN (0xff), NaN      s = NaN, NaN   s = NaN
//   amax > 127 * 65504   d = inf                -                          -              -
//
// e2m1 has no NaN: it stores 0 for one, and the scale is the NaN. Where s of NVFP4 is 0, because
// amax is too small beside that of the tensor, so are the values.
#pragma once

#include <cstdint>

#include "core/block_format.hpp"
#include "maps/host_device.hpp"
#include "values/convert.hpp"
#include "values/epilogue.hpp"

namespace cornerturn::values {

inline constexpr int block_size = 32;

using cornerturn::BlockFormat;
using cornerturn::BlockScale;
using cornerturn::ScaleOrder;

/// A float of 4 bits without infinities and NaNs: 0, 0.5, 1, 1.5, 2, 3, 4, 6 and their negatives.
struct E2M1 {
  std::uint8_t bits;
  friend constexpr bool operator==(E2M1, E2M1) = default;
};

/// ggml's block_q8_0.
struct Q8Block {
  F16 scale;
  std::int8_t values[block_size];
};
static_assert(sizeof(Q8Block) == 34);

/// To be maximised over a block.
CT_HOST_DEVICE constexpr std::uint32_t magnitude_of(float x) {
  return bits_as<std::uint32_t>(x) & 0x7fffffffU;
}

CT_HOST_DEVICE inline float quotient(float a, float b) {
#if defined(__CUDA_ARCH__)
  return __fdiv_rn(a, b);
#else
  return a / b;
#endif
}

/// The scale of a block as it is stored, and by what its values are multiplied.
struct Q8Scale {
  F16 stored;
  float inverse;
};

CT_HOST_DEVICE inline Q8Scale q8_scale(std::uint32_t amax) {
  if (amax > f32_infinity) return {F16{0x7e00}, 0.0F};
  const float d = quotient(bits_as<float>(amax), 127.0F);
  return {narrow<F16>(d, Overflow::standard), d == 0.0F ? 0.0F : quotient(1.0F, d)};
}

/// Halves away from zero, as roundf does. What is no number, or too large for one, becomes 0: both
/// arise only in blocks whose scale says so, or is 0.
CT_HOST_DEVICE inline std::int8_t q8_value(float x, float inverse) {
  const float scaled = product(x, inverse);
  const float magnitude = scaled < 0.0F ? -scaled : scaled;
  if (!(magnitude < 128.0F)) return 0;
  const auto whole = static_cast<std::int32_t>(magnitude);
  const float rest = sum(magnitude, -static_cast<float>(whole));
  const std::int32_t rounded = whole + (rest >= 0.5F ? 1 : 0);
  return static_cast<std::int8_t>(scaled < 0.0F ? -rounded : rounded);
}

/// NaNs are all the same one, as in mx_dequantised: processors differ in what they make.
CT_HOST_DEVICE inline float q8_dequantised(std::int8_t value, F16 scale) {
  const float result = product(static_cast<float>(value), widen(scale));
  return is_nan(result) ? bits_as<float>(f32_nan) : result;
}

/// What scales have to know of the elements of a block. The largest value is
/// 2^exponent * (1 + mantissa / 2^23).
struct ElementRange {
  float largest;
  int exponent;
  std::uint32_t mantissa;
  int mantissa_bits;
};
template <class T>
CT_HOST_DEVICE constexpr ElementRange range_of() {
  if constexpr (std::is_same_v<T, E4M3>) {
    return {448.0F, 8, 0x00600000U, 3};
  } else if constexpr (std::is_same_v<T, E5M2>) {
    return {57344.0F, 15, 0x00600000U, 2};
  } else {
    static_assert(std::is_same_v<T, E2M1>);
    return {6.0F, 2, 0x00400000U, 1};
  }
}

/// The E8M0 code of the scale: 2^(code - 127); 0xff: NaN.
template <class T>
CT_HOST_DEVICE constexpr std::uint8_t mx_scale(std::uint32_t amax, BlockScale rule) {
  constexpr ElementRange range = range_of<T>();
  if (amax > f32_infinity) return 0xff;
  if (rule == BlockScale::even) amax += 1U << (22 - range.mantissa_bits);
  const bool above = rule == BlockScale::ceil && (amax & 0x007fffffU) > range.mantissa;
  const int exponent = static_cast<int>(amax >> 23) - range.exponent + (above ? 1 : 0);
  return static_cast<std::uint8_t>(exponent < 0 ? 0 : exponent);
}

/// 2^(code - 127) as f32, NaN for 0xff.
CT_HOST_DEVICE constexpr float e8m0(std::uint8_t code) {
  const std::uint32_t bits = code == 0 ? 0x00400000U : static_cast<std::uint32_t>(code) << 23;
  return bits_as<float>(code == 0xff ? f32_nan : bits);
}

/// By what the values of a block are multiplied: 2^(127 - code), NaN for 0xff.
CT_HOST_DEVICE constexpr float mx_inverse(std::uint8_t code) {
  return code == 0xff ? bits_as<float>(f32_nan) : e8m0(static_cast<std::uint8_t>(254 - code));
}

/// To nearest even, saturated. A NaN becomes 0.
CT_HOST_DEVICE constexpr E2M1 narrow_e2m1(float value) {
  const auto bits = bits_as<std::uint32_t>(value);
  const std::uint32_t magnitude = bits & 0x7fffffffU;
  // Normal values from 1 on; below, halves: 1 + 0.5 k ends in the code's only bit of mantissa.
  const std::uint32_t rounded = magnitude + 0x001fffffU + (magnitude >> 22 & 1U);
  const std::uint32_t normal = (rounded - 0x3f800000U) / 0x00400000U + 2;
  const std::uint32_t small = magnitude <= 0x3e800000U ? 0U : magnitude < 0x3f400000U ? 1U : 2U;
  std::uint32_t code = magnitude < 0x3f800000U ? small : normal;
  code = magnitude >= 0x40c00000U ? 7U : code;
  return E2M1{static_cast<std::uint8_t>(magnitude > f32_infinity ? 0U : code | (bits >> 31 << 3))};
}

/// The next value away from 0 where `random`, 32 bits, says so, else the one before. A NaN becomes
/// 0.
CT_HOST_DEVICE constexpr E2M1 narrow_e2m1_stochastic(float value, std::uint32_t random) {
  const auto bits = bits_as<std::uint32_t>(value);
  const std::uint32_t magnitude = bits & 0x7fffffffU;
  std::uint32_t code = (magnitude - 0x3f800000U + (random & 0x003fffffU)) / 0x00400000U + 2;
  if (magnitude < 0x3f800000U) {
    // In halves, with 23 bits behind the point.
    const auto halves = static_cast<std::uint32_t>(bits_as<float>(magnitude) * 0x1p24F);
    code = (halves + (random & 0x007fffffU)) >> 23;
  }
  code = magnitude >= 0x40c00000U || code > 7U ? 7U : code;
  return E2M1{static_cast<std::uint8_t>(magnitude > f32_infinity ? 0U : code | (bits >> 31 << 3))};
}

CT_HOST_DEVICE constexpr float widen(E2M1 value) {
  const std::uint32_t code = value.bits & 7U;
  const std::uint32_t half = code == 0 ? 0U : 0x3f000000U;
  const std::uint32_t bits = code < 2 ? half : 0x3f800000U + ((code - 2) << 22);
  return bits_as<float>(bits | static_cast<std::uint32_t>(value.bits & 8U) << 28);
}

/// The scale of a block as the bits that are stored, and by what its values are multiplied.
struct StoredScale {
  std::uint32_t bits;
  float inverse;
};

/// The least magnitude from which a scale of f32 is computed.
inline constexpr float least_amax = 1e-4F;

/// The least power of two that is no less than a positive normal number. Infinity and NaN stay.
CT_HOST_DEVICE constexpr float power_of_two_from(float x) {
  const auto bits = bits_as<std::uint32_t>(x);
  return bits >= f32_infinity ? x : bits_as<float>((bits + 0x007fffffU) & 0x7f800000U);
}

/// The scale of a block of FP8 with a scale of f32: what a value is multiplied by when it comes
/// back.
template <class T>
CT_HOST_DEVICE inline StoredScale f32_scale(std::uint32_t amax, BlockScale rule) {
  if (amax > f32_infinity) return {f32_nan, bits_as<float>(f32_nan)};
  const auto least = bits_as<std::uint32_t>(least_amax);
  float scale = quotient(bits_as<float>(amax < least ? least : amax), range_of<T>().largest);
  if (rule == BlockScale::ceil) scale = power_of_two_from(scale);
  return {bits_as<std::uint32_t>(scale), quotient(1.0F, scale)};
}

/// The scale of a tensor of NVFP4 whose largest magnitude is `amax`: 448 * 6 / amax. It is 1 for
/// zeros alone, and NaN for a NaN; an infinity counts as the largest number.
CT_HOST_DEVICE inline float nvfp4_tensor_scale(float amax) {
  constexpr float largest = 3.40282347e+38F;
  if (amax == 0) return 1;
  const float scale = quotient(2688.0F, amax > largest ? largest : amax);
  return scale > largest ? largest : scale;
}

/// The scale of a block of NVFP4 as it is stored; `tensor` is that of the tensor.
CT_HOST_DEVICE inline std::uint8_t nvfp4_stored(std::uint32_t amax, float tensor) {
  if (amax > f32_infinity || is_nan(tensor)) return 0x7f;
  const float exact = product(quotient(bits_as<float>(amax), 6.0F), tensor);
  return narrow<E4M3>(exact, Overflow::saturate).bits;
}

/// By what the values of such a block are multiplied: 0 where the scale is 0 or a NaN.
CT_HOST_DEVICE inline float nvfp4_inverse(std::uint8_t stored, float tensor) {
  if (stored == 0 || stored == 0x7f) return 0.0F;
  const float inverse = quotient(tensor, widen(E4M3{stored}));
  constexpr float largest = 3.40282347e+38F;
  return inverse > largest ? largest : inverse;
}

CT_HOST_DEVICE inline StoredScale nvfp4_scale(std::uint32_t amax, float tensor) {
  const std::uint8_t stored = nvfp4_stored(amax, tensor);
  return {stored, nvfp4_inverse(stored, tensor)};
}

/// By what the values of a block of NVFP4 are multiplied when they come back.
CT_HOST_DEVICE inline float nvfp4_factor(std::uint8_t stored, float tensor) {
  return quotient(widen(E4M3{stored}), tensor);
}

/// A value of a block as it is stored. A NaN loses its sign.
template <class T>
CT_HOST_DEVICE inline T mx_value(float x, float inverse) {
  const float scaled = product(x, inverse);
  if constexpr (std::is_same_v<T, E2M1>) {
    return narrow_e2m1(scaled);
  } else {
    return narrow<T>(is_nan(scaled) ? bits_as<float>(f32_nan) : scaled, Overflow::saturate);
  }
}

/// A value as it is stored, rounded up where `random`, 32 bits, says so.
template <class T>
CT_HOST_DEVICE inline T mx_value_stochastic(float x, float inverse, std::uint32_t random) {
  const float scaled = product(x, inverse);
  if constexpr (std::is_same_v<T, E2M1>) {
    return narrow_e2m1_stochastic(scaled, random);
  } else {
    return narrow_stochastic<T>(is_nan(scaled) ? bits_as<float>(f32_nan) : scaled, random,
                                Overflow::saturate);
  }
}

/// widen() of two 8-bit floats, the first in the lower byte; which NaN one becomes is not said.
template <class T>
CT_HOST_DEVICE inline void widen_pair(std::uint16_t pair, float& first, float& second) {
#if defined(__CUDA_ARCH__)
  constexpr bool upper_half = std::is_same_v<T, E5M2>;  // of f16
  if constexpr (upper_half || __CUDA_ARCH__ >= 890) {
    std::uint32_t halves = __byte_perm(pair, 0, 0x1404);
    if constexpr (!upper_half) asm("cvt.rn.f16x2.e4m3x2 %0, %1;" : "=r"(halves) : "h"(pair));
    asm("{\n.reg .b16 low, high;\n"
        "mov.b32 {low, high}, %2;\n"
        "cvt.f32.f16 %0, low;\n"
        "cvt.f32.f16 %1, high;\n}"
        : "=f"(first), "=f"(second)
        : "r"(halves));
  } else {
    first = widen(T{static_cast<std::uint8_t>(pair)});
    second = widen(T{static_cast<std::uint8_t>(pair >> 8)});
  }
#else
  first = widen(T{static_cast<std::uint8_t>(pair)});
  second = widen(T{static_cast<std::uint8_t>(pair >> 8)});
#endif
}

/// A value of a block that comes back; `factor` is its scale as a number.
template <class T>
CT_HOST_DEVICE inline float block_dequantised(T value, float factor) {
  const float result = product(widen(value), factor);
  return is_nan(result) ? bits_as<float>(f32_nan) : result;
}

template <class T>
CT_HOST_DEVICE inline float mx_dequantised(T value, std::uint8_t code) {
  return block_dequantised(value, e8m0(code));
}

/// Where the scale of block `j` of line `i` lies, in bytes from the first; see ScaleOrder and
/// BlockLayout. `line` is the stride at the mode of the lines, `step` that at the blocks' axis.
/// Lines are those of blocks, where blocks have several.
CT_HOST_DEVICE constexpr std::int64_t scale_place(ScaleOrder order, int scale_bytes, std::int64_t i,
                                                  std::int64_t j, std::int64_t line,
                                                  std::int64_t step) {
  if (order == ScaleOrder::packed_4) return i * line + j / 4 * step + j % 4 * scale_bytes;
  if (order == ScaleOrder::tiles_128x4) {
    return i / 128 * line + j / 4 * step + i % 32 * 16 + i % 128 / 32 * 4 + j % 4;
  }
  return i * line + j * step;
}

}  // namespace cornerturn::values
