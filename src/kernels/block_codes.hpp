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

/// The element of an MXFP8 format.
template <BlockFormat format>
using MxElement = std::conditional_t<format == BlockFormat::mx_e4m3, values::E4M3, values::E5M2>;

/// What four codes of a word stand for, without their scale; which NaN one becomes is not said.
template <BlockFormat format>
CT_DEVICE void numbers_of(std::uint32_t codes, float (&x)[4]) {
  if constexpr (format == BlockFormat::q8_0) {
    CT_UNROLL
    for (int i = 0; i < 4; ++i) x[i] = static_cast<float>(static_cast<std::int8_t>(codes >> 8 * i));
  } else {
    using T = MxElement<format>;
    values::widen_pair<T>(static_cast<std::uint16_t>(codes), x[0], x[1]);
    values::widen_pair<T>(static_cast<std::uint16_t>(codes >> 16), x[2], x[3]);
  }
}

/// The scale of a q8_0 block, as it is stored; which NaN one becomes is not said.
CT_DEVICE float q8_factor(std::uint16_t stored) {
#if defined(__CUDA_ARCH__)
  float factor;
  asm("cvt.f32.f16 %0, %1;" : "=f"(factor) : "h"(stored));
  return factor;
#else
  return values::widen(values::F16{stored});
#endif
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

}  // namespace cornerturn::kernels
