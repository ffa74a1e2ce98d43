// Codes of 8 bits and the values they stand for, several of a block at a time in registers: bit for
// bit what values/blocks.hpp makes of each, by the GPU's instructions where it has them.
#pragma once

#include <cstdint>
#include <type_traits>

#include "kernels/casts.hpp"
#include "kernels/context.hpp"
#include "values/blocks.hpp"

namespace cornerturn::kernels {

using values::BlockFormat;

/// What four codes stand for, without their scale; which NaN one becomes is not said. Packed: those
/// of q8_0.
template <BlockElement element>
CT_DEVICE void numbers_of(std::uint32_t codes, float (&x)[4]) {
  if constexpr (element == BlockElement::packed) {
    CT_UNROLL
    for (int i = 0; i < 4; ++i) x[i] = static_cast<float>(static_cast<std::int8_t>(codes >> 8 * i));
  } else if constexpr (element == BlockElement::e2m1) {
    CT_UNROLL
    for (int i = 0; i < 4; ++i) {
      // As an f32 it has the code's bits, and is that much too small.
      const std::uint32_t bits = codes >> 4 * i;
      x[i] = values::product(
          values::bits_as<float>((bits << 22 & 0x01c00000U) | (bits << 28 & 0x80000000U)),
          0x1p126F);
    }
  } else {
    using T = std::conditional_t<element == BlockElement::e4m3, values::E4M3, values::E5M2>;
    values::widen_pair<T>(static_cast<std::uint16_t>(codes), x[0], x[1]);
    values::widen_pair<T>(static_cast<std::uint16_t>(codes >> 16), x[2], x[3]);
  }
}

/// values::widen() of f16; which NaN one becomes is not said.
CT_DEVICE float widen_half(std::uint16_t bits) {
#if defined(__CUDA_ARCH__)
  float x;
  asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"(bits));
  return x;
#else
  return values::widen(values::F16{bits});
#endif
}

/// An element as f32; which NaN one becomes is not said.
template <class S>
CT_DEVICE float number_of(Bits<S> bits) {
  if constexpr (std::is_same_v<S, values::F16>) {
    return widen_half(bits);
  } else {
    return values::convert<float>(values::bits_as<S>(bits), Overflow::standard);
  }
}

/// Whatever NaN a product was becomes the same one.
CT_DEVICE float plain_nan(float product) {
#if defined(__CUDA_ARCH__)
  // A GPU's own NaN is the largest positive number.
  return __int_as_float(min(__float_as_int(product), static_cast<int>(values::f32_nan)));
#else
  return values::is_nan(product) ? values::bits_as<float>(values::f32_nan) : product;
#endif
}

/// Two products as a D, the first in the lower half of a word.
template <class D>
CT_DEVICE std::uint32_t narrow_products(float first, float second) {
#if defined(__CUDA_ARCH__)
  constexpr std::uint32_t nan = values::narrow_nan<D>(values::f32_nan);
  return __vmins2(values::narrow_pair<D>(first, second), nan << 16 | nan);
#else
  const auto code = [](float x) {
    return std::uint32_t{values::narrow<D>(plain_nan(x), Overflow::standard).bits};
  };
  return code(second) << 16 | code(first);
#endif
}

/// Elements i and i + 1 of a vector, made of two products.
template <class D, int words>
CT_DEVICE void put_products(Vec<std::uint32_t, words>& to, int i, float first, float second) {
  if constexpr (sizeof(D) == 4) {
    to[i] = values::bits_as<std::uint32_t>(plain_nan(first));
    to[i + 1] = values::bits_as<std::uint32_t>(plain_nan(second));
  } else {
    to[i / 2] = narrow_products<D>(first, second);
  }
}

/// The larger magnitude, or a NaN.
CT_DEVICE float larger(float a, float b) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  float most;
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(most) : "f"(fabsf(a)), "f"(fabsf(b)));
  return most;
#else
  const std::uint32_t p = values::magnitude_of(a), q = values::magnitude_of(b);
  return values::bits_as<float>(p > q ? p : q);
#endif
}

/// Bytes side by side, the first lowest.
template <int count>
CT_DEVICE Vec<std::uint32_t, count / 4> bytes_joined(const std::uint8_t (&v)[count]) {
  Vec<std::uint32_t, count / 4> words;
  CT_UNROLL
  for (int k = 0; k < count / 4; ++k) {
    words[k] = byte_permute(byte_permute(v[4 * k], v[4 * k + 1], 0x3340),
                            byte_permute(v[4 * k + 2], v[4 * k + 3], 0x3340), 0x5410);
  }
  return words;
}

/// values::mx_value of values, `inverse` is values::mx_inverse of their scale.
template <class T, int count>
CT_DEVICE Vec<std::uint32_t, count / 4> mx_codes(const float (&x)[count], float inverse) {
  const auto one_by_one = [&] {
    std::uint8_t v[count];
    CT_UNROLL
    for (int i = 0; i < count; ++i) v[i] = values::mx_value<T>(x[i], inverse).bits;
    return bytes_joined(v);
  };
#if defined(__CUDA_ARCH__)
  if constexpr (values::has_instruction<T>) {
    // E4M3's own NaN is what the instruction makes, and E5M2's is one less. Values are NaNs only
    // where they are multiplied by NaN or 0; then there are no others but zeros.
    const bool plain = std::is_same_v<T, values::E4M3> || inverse > 0.0F;
    const std::uint32_t kept = plain ? ~0U : 0xfefefefeU;
    Vec<std::uint32_t, count / 4> words;
    CT_UNROLL
    for (int k = 0; k < count / 4; ++k) {
      const auto pair = [&](int i) {
        return values::narrow_pair<T>(values::product(x[i], inverse),
                                      values::product(x[i + 1], inverse));
      };
      words[k] = byte_permute(pair(4 * k), pair(4 * k + 2), 0x5410) & kept;
    }
    return words;
  } else {
    return one_by_one();
  }
#else
  return one_by_one();
#endif
}

/// The code of a value's magnitude in e2m1, in the lowest byte. A sum with the power of two whose
/// last bit is worth what the code's is rounds it: `s` has 0x4a8, 0x4b0 or 0x4b8 above, and below
/// 2 |x|, |x| or |x| / 2, and 214 more, so that the byte of s + (s >> 22) is the code. NaNs count
/// as `limit`, at most 6.
CT_DEVICE std::uint32_t e2m1_magnitude(float x, float limit) {
  constexpr float last_bit = 0x1p22F + 107;
#if defined(__CUDA_ARCH__)
  const float most = fminf(fabsf(x), limit);
  const float from_one = fmaxf(most, 1.0F);
#else
  const auto magnitude = values::bits_as<float>(values::magnitude_of(x));
  const float most = magnitude < limit ? magnitude : limit;
  const float from_one = most < 1.0F ? 1.0F : most;
#endif
  const auto power = values::bits_as<float>(values::bits_as<std::uint32_t>(from_one) & 0x7f800000U);
#if defined(__CUDA_ARCH__)
  const auto s = values::bits_as<std::uint32_t>(__fmaf_rn(power, last_bit, most));
#else
  // The product is exact.
  const auto s =
      values::bits_as<std::uint32_t>(values::sum(values::product(power, last_bit), most));
#endif
  return s + (s >> 22);
}

/// values::mx_value of eight values as e2m1, the first in the lowest four bits; or of four, in the
/// lower half. `inverse` is by what they are multiplied: 0 or NaN where a product may be a NaN.
template <int count>
CT_DEVICE std::uint32_t e2m1_codes(const float (&x)[count], float inverse) {
  static_assert(count == 4 || count == 8);
  const float limit = inverse > 0.0F ? 6.0F : 0.0F;
  std::uint32_t top[count], pair[count / 2];
  CT_UNROLL
  for (int i = 0; i < count; ++i) {
    float p = values::product(x[i], inverse);
#if !defined(__CUDA_ARCH__)  // a GPU's own NaN has no sign
    p = plain_nan(p);
#endif
    top[i] = values::bits_as<std::uint32_t>(p);
    const std::uint32_t code = e2m1_magnitude(p, limit);
    pair[i / 2] = i % 2 == 0 ? code : pair[i / 2] + (code << 4);
  }
  // Bytes of two words, or of four.
  const auto joined = [](std::uint32_t a, std::uint32_t b, std::uint32_t c, std::uint32_t d,
                         std::uint32_t selector) {
    const std::uint32_t low = byte_permute(a, b, selector);
    return count == 4 ? low : byte_permute(low, byte_permute(c, d, selector), 0x5410);
  };
  constexpr int last = count - 1, half = count / 2;
  const std::uint32_t even = joined(top[0], top[2], top[half], top[last - 1], 0x73);
  const std::uint32_t odd = joined(top[1], top[3], top[half + 1], top[last], 0x73);
  const std::uint32_t codes = joined(pair[0], pair[1], pair[half / 2], pair[half - 1], 0x40);
  const std::uint32_t signs = ((even >> 4) & 0x0f0f0f0fU) | (odd & 0xf0f0f0f0U);
  const std::uint32_t all = (codes & 0x77777777U) | (signs & 0x88888888U);
  return count == 4 ? all & 0xffffU : all;
}

/// x / 6 rounded to f32 for x of f32. No quotient lies so near to the middle between two numbers
/// that the error of the factor matters; one that lies in the middle, which is not normal, stays
/// there.
CT_HOST_DEVICE inline float sixth_of(float x) {
  return static_cast<float>(values::product(static_cast<double>(x), 1.0 / 6));
}

/// values::nvfp4_stored of a block's largest magnitude.
CT_DEVICE std::uint8_t nvfp4_code(std::uint32_t amax, float tensor) {
  const float exact = values::product(sixth_of(values::bits_as<float>(amax)), tensor);
#if defined(__CUDA_ARCH__)
  if constexpr (values::has_instruction<values::E4M3>) {
    // It saturates, and makes 0x7f of a NaN.
    return static_cast<std::uint8_t>(values::narrow_pair<values::E4M3>(exact, 0.0F));
  }
#endif
  if (values::is_nan(exact)) return 0x7f;
  return values::narrow<values::E4M3>(exact, Overflow::saturate).bits;
}

/// What values of a block of q8_0 are multiplied by: 0 where there is no finite inverse, when all
/// codes are 0.
CT_DEVICE float q8_inverse(const values::Q8Scale& scale) {
  const bool usable =
      scale.inverse > 0 && scale.inverse < values::bits_as<float>(values::f32_infinity);
  return usable ? scale.inverse : 0.0F;
}
/// values::q8_value, in the lowest byte. With such an inverse a value is at most 127, or no number.
/// Halves go away from zero when what is just less than a half is added.
CT_DEVICE std::uint32_t q8_code(float x, float inverse) {
  const float scaled = values::product(x, inverse);
  const std::uint32_t half = (values::bits_as<std::uint32_t>(scaled) & 0x80000000U) | 0x3effffffU;
  const float sum = values::sum(scaled, values::bits_as<float>(half));
#if defined(__CUDA_ARCH__)
  return static_cast<std::uint32_t>(__float2int_rz(sum));  // 0 for a NaN
#else
  return values::is_nan(sum) ? 0U : static_cast<std::uint32_t>(static_cast<std::int32_t>(sum));
#endif
}

}  // namespace cornerturn::kernels
