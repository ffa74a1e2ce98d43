// The floating-point format of 4 bits, one and two at a time: 0, 0.5, 1, 1.5, 2, 3, 4 and 6 with a
// sign.
#pragma once

#include "cuda_fp8.h"

typedef unsigned char __nv_fp4_storage_t;
typedef unsigned char __nv_fp4x2_storage_t;
typedef unsigned short __nv_fp4x4_storage_t;
enum __nv_fp4_interpretation_t { __NV_E2M1 };
enum cudaRoundMode { cudaRoundNearest, cudaRoundZero, cudaRoundPosInf, cudaRoundMinInf };

namespace cornerturn::guest {

CT_GUEST_VALUE float from_fp4(unsigned bits) {
  const unsigned magnitude = bits & 7u, exponent = magnitude >> 1, fraction = magnitude & 1u;
  const float value = exponent == 0 ? 0.5f * static_cast<float>(fraction)
                                    : static_cast<float>((2 + fraction) << exponent) * 0.25f;
  return (bits & 8u) != 0 ? -value : value;
}
// To the nearest value, of two to the one that ends with 0; to 6 what is larger, and no number.
CT_GUEST_VALUE __nv_fp4_storage_t to_fp4(float v) {
  const float magnitude = v < 0 ? -v : v;
  unsigned bits = 7;
  for (unsigned below = 0; below < 7; ++below) {
    const float middle = (from_fp4(below) + from_fp4(below + 1)) / 2;
    if (magnitude < middle || (magnitude == middle && below % 2 == 0)) {
      bits = below;
      break;
    }
  }
  return static_cast<__nv_fp4_storage_t>(bits | (__builtin_signbit(v) && v == v ? 8u : 0u));
}
CT_GUEST_VALUE __nv_fp4x2_storage_t to_fp4x2(float low, float high) {
  return static_cast<__nv_fp4x2_storage_t>(to_fp4(low) | to_fp4(high) << 4);
}

}  // namespace cornerturn::guest

CT_GUEST_INLINE __nv_fp4_storage_t __nv_cvt_float_to_fp4(float v, __nv_fp4_interpretation_t,
                                                         cudaRoundMode) {
  return ::cornerturn::guest::to_fp4(v);
}
CT_GUEST_INLINE __nv_fp4x2_storage_t __nv_cvt_float2_to_fp4x2(float2 v, __nv_fp4_interpretation_t,
                                                              cudaRoundMode) {
  return ::cornerturn::guest::to_fp4x2(v.x, v.y);
}
CT_GUEST_INLINE __half_raw __nv_cvt_fp4_to_halfraw(__nv_fp4_storage_t v,
                                                   __nv_fp4_interpretation_t) {
  return {__half(::cornerturn::guest::from_fp4(v)).__x};
}
CT_GUEST_INLINE __half2_raw __nv_cvt_fp4x2_to_halfraw2(__nv_fp4x2_storage_t v,
                                                       __nv_fp4_interpretation_t) {
  return {__half(::cornerturn::guest::from_fp4(v)).__x,
          __half(::cornerturn::guest::from_fp4(v >> 4u)).__x};
}

struct __nv_fp4_e2m1 {
  __nv_fp4_storage_t __x;

  __nv_fp4_e2m1() = default;
  CT_GUEST_INLINE explicit __nv_fp4_e2m1(float v) : __x(::cornerturn::guest::to_fp4(v)) {}
  CT_GUEST_INLINE explicit operator float() const { return ::cornerturn::guest::from_fp4(__x); }
};
struct __nv_fp4x2_e2m1 {
  __nv_fp4x2_storage_t __x;

  __nv_fp4x2_e2m1() = default;
  CT_GUEST_INLINE explicit __nv_fp4x2_e2m1(float2 v)
      : __x(::cornerturn::guest::to_fp4x2(v.x, v.y)) {}
  CT_GUEST_INLINE explicit operator float2() const {
    return {::cornerturn::guest::from_fp4(__x), ::cornerturn::guest::from_fp4(__x >> 4u)};
  }
};
