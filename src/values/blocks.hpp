// Blocks of 32 values that share a scale: how the scale follows from the largest magnitude, how a
// value is stored with it, and how it comes back. Shared by GPU kernels, the emulator and the CPU.
//
//   q8_0   (ggml) d = amax / 127 as f16, then 32 x int8: round(x * (1 / d)), 34 bytes in a row
//   MXFP8  (OCP)  2^e as E8M0, 32 x e4m3 or e5m2: x / 2^e, saturated; scales in an array of their
//   own
//
// Magnitudes are compared as the bits of |x|, as f32: there an infinity is more than any number,
// and a NaN more than an infinity, so that one maximum over the block finds both.
//
//   the block holds        q8_0                            MXFP8
//   zeros alone            d = 0, values 0                 scale 2^-127, values 0
//   an infinity            d = inf, values 0: NaN          counts as 2^128: saturates
//   a NaN                  d = NaN, values 0: NaN          scale NaN (0xff), values NaN
//   amax > 127 * 65504     d = inf                         -
#pragma once

#include <cstdint>

#include "core/block_format.hpp"
#include "maps/host_device.hpp"
#include "values/convert.hpp"
#include "values/epilogue.hpp"

namespace cornerturn::values {

inline constexpr int block_size = 32;

using cornerturn::BlockFormat;
using cornerturn::MxScale;

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

/// The exponent of the largest finite value of an element.
template <class T>
inline constexpr int largest_exponent =
    FormatOf<T>::infinity ? FormatOf<T>::bias : FormatOf<T>::bias + 1;

/// The E8M0 code of the scale: 2^(code - 127); 0xff: NaN.
template <class T>
CT_HOST_DEVICE constexpr std::uint8_t mx_scale(std::uint32_t amax, MxScale rule) {
  static_assert(std::is_same_v<T, E4M3> || std::is_same_v<T, E5M2>);
  if (amax > f32_infinity) return 0xff;
  // Both largest values are 1.75 times a power of two.
  const bool above = rule == MxScale::ceil && (amax & 0x007fffffU) > 0x00600000U;
  const int exponent = static_cast<int>(amax >> 23) - largest_exponent<T> + (above ? 1 : 0);
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

/// A NaN loses its sign.
template <class T>
CT_HOST_DEVICE inline T mx_value(float x, float inverse) {
  const float scaled = product(x, inverse);
  return narrow<T>(is_nan(scaled) ? bits_as<float>(f32_nan) : scaled, Overflow::saturate);
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

template <class T>
CT_HOST_DEVICE inline float mx_dequantised(T value, std::uint8_t code) {
  const float result = product(widen(value), e8m0(code));
  return is_nan(result) ? bits_as<float>(f32_nan) : result;
}

}  // namespace cornerturn::values
