// The two floating-point formats of 8 bits, one, two and four at a time.
#pragma once

#include "cuda_bf16.h"
#include "cuda_fp16.h"

typedef unsigned char __nv_fp8_storage_t;
typedef unsigned short __nv_fp8x2_storage_t;
typedef unsigned __nv_fp8x4_storage_t;
enum __nv_saturation_t { __NV_NOSAT, __NV_SATFINITE };
enum __nv_fp8_interpretation_t { __NV_E4M3, __NV_E5M2 };

namespace cornerturn::guest {

CT_GUEST_VALUE __nv_fp8_storage_t to_fp8(double v, __nv_saturation_t saturate,
                                         __nv_fp8_interpretation_t format) {
  const bool finite = saturate == __NV_SATFINITE;
  return static_cast<__nv_fp8_storage_t>(format == __NV_E4M3
                                             ? encode<E4m3Format>(v, Rounding::nearest, finite)
                                             : encode<E5m2Format>(v, Rounding::nearest, finite));
}
CT_GUEST_VALUE float from_fp8(unsigned bits, __nv_fp8_interpretation_t format) {
  return format == __NV_E4M3 ? decode<E4m3Format>(bits & 0xffu) : decode<E5m2Format>(bits & 0xffu);
}
CT_GUEST_VALUE __nv_fp8x2_storage_t to_fp8x2(double low, double high, __nv_saturation_t saturate,
                                             __nv_fp8_interpretation_t format) {
  return static_cast<__nv_fp8x2_storage_t>(to_fp8(low, saturate, format) |
                                           to_fp8(high, saturate, format) << 8);
}

}  // namespace cornerturn::guest

CT_GUEST_INLINE __nv_fp8_storage_t __nv_cvt_float_to_fp8(float v, __nv_saturation_t saturate,
                                                         __nv_fp8_interpretation_t format) {
  return ::cornerturn::guest::to_fp8(v, saturate, format);
}
CT_GUEST_INLINE __nv_fp8_storage_t __nv_cvt_double_to_fp8(double v, __nv_saturation_t saturate,
                                                          __nv_fp8_interpretation_t format) {
  return ::cornerturn::guest::to_fp8(v, saturate, format);
}
CT_GUEST_INLINE __nv_fp8_storage_t __nv_cvt_halfraw_to_fp8(__half_raw v, __nv_saturation_t saturate,
                                                           __nv_fp8_interpretation_t format) {
  return ::cornerturn::guest::to_fp8(static_cast<__half>(v).value(), saturate, format);
}
CT_GUEST_INLINE __nv_fp8_storage_t __nv_cvt_bfloat16raw_to_fp8(__nv_bfloat16_raw v,
                                                               __nv_saturation_t saturate,
                                                               __nv_fp8_interpretation_t format) {
  return ::cornerturn::guest::to_fp8(static_cast<__nv_bfloat16>(v).value(), saturate, format);
}
CT_GUEST_INLINE __nv_fp8x2_storage_t __nv_cvt_float2_to_fp8x2(float2 v, __nv_saturation_t saturate,
                                                              __nv_fp8_interpretation_t format) {
  return ::cornerturn::guest::to_fp8x2(v.x, v.y, saturate, format);
}
CT_GUEST_INLINE __nv_fp8x2_storage_t __nv_cvt_halfraw2_to_fp8x2(__half2_raw v,
                                                                __nv_saturation_t saturate,
                                                                __nv_fp8_interpretation_t format) {
  const __half2 both = v;
  return ::cornerturn::guest::to_fp8x2(both.x.value(), both.y.value(), saturate, format);
}
CT_GUEST_INLINE __nv_fp8x2_storage_t __nv_cvt_bfloat16raw2_to_fp8x2(
    __nv_bfloat162_raw v, __nv_saturation_t saturate, __nv_fp8_interpretation_t format) {
  const __nv_bfloat162 both = v;
  return ::cornerturn::guest::to_fp8x2(both.x.value(), both.y.value(), saturate, format);
}
CT_GUEST_INLINE __half_raw __nv_cvt_fp8_to_halfraw(__nv_fp8_storage_t v,
                                                   __nv_fp8_interpretation_t format) {
  return {__half(::cornerturn::guest::from_fp8(v, format)).__x};
}
CT_GUEST_INLINE __half2_raw __nv_cvt_fp8x2_to_halfraw2(__nv_fp8x2_storage_t v,
                                                       __nv_fp8_interpretation_t format) {
  return {__half(::cornerturn::guest::from_fp8(v, format)).__x,
          __half(::cornerturn::guest::from_fp8(v >> 8, format)).__x};
}

namespace cornerturn::guest {

// A conversion from a wider type saturates, as CUDA's constructors do.
template <__nv_fp8_interpretation_t format>
struct Fp8 {
  __nv_fp8_storage_t __x;

  Fp8() = default;
  template <class T, class = std::enable_if_t<std::is_arithmetic_v<T>>>
  CT_GUEST_INLINE explicit Fp8(T v) : __x(to_fp8(as_odd_double(v), __NV_SATFINITE, format)) {}
  template <class F>
  CT_GUEST_INLINE explicit Fp8(Small<F> v) : __x(to_fp8(v.value(), __NV_SATFINITE, format)) {}
  CT_GUEST_INLINE explicit operator float() const { return from_fp8(__x, format); }
  CT_GUEST_INLINE explicit operator double() const { return from_fp8(__x, format); }
  CT_GUEST_INLINE explicit operator __half() const { return __half(from_fp8(__x, format)); }
  CT_GUEST_INLINE explicit operator __nv_bfloat16() const {
    return __nv_bfloat16(from_fp8(__x, format));
  }
  CT_GUEST_INLINE explicit operator int() const {
    return to_integer<int>(__builtin_truncf(from_fp8(__x, format)));
  }
  CT_GUEST_INLINE explicit operator bool() const { return from_fp8(__x, format) != 0; }
};
template <__nv_fp8_interpretation_t format>
struct alignas(2) Fp8x2 {
  __nv_fp8x2_storage_t __x;

  Fp8x2() = default;
  CT_GUEST_INLINE explicit Fp8x2(float2 v) : __x(to_fp8x2(v.x, v.y, __NV_SATFINITE, format)) {}
  CT_GUEST_INLINE explicit Fp8x2(double2 v) : __x(to_fp8x2(v.x, v.y, __NV_SATFINITE, format)) {}
  template <class F>
  CT_GUEST_INLINE explicit Fp8x2(Pair<F> v)
      : __x(to_fp8x2(v.x.value(), v.y.value(), __NV_SATFINITE, format)) {}
  CT_GUEST_INLINE explicit operator float2() const {
    return {from_fp8(__x, format), from_fp8(__x >> 8, format)};
  }
  CT_GUEST_INLINE explicit operator __half2() const {
    return __half2(from_fp8(__x, format), from_fp8(__x >> 8, format));
  }
};
template <__nv_fp8_interpretation_t format>
struct alignas(4) Fp8x4 {
  __nv_fp8x4_storage_t __x;

  Fp8x4() = default;
  CT_GUEST_INLINE explicit Fp8x4(float4 v)
      : __x(to_fp8x2(v.x, v.y, __NV_SATFINITE, format) |
            static_cast<unsigned>(to_fp8x2(v.z, v.w, __NV_SATFINITE, format)) << 16) {}
  CT_GUEST_INLINE explicit operator float4() const {
    return {from_fp8(__x, format), from_fp8(__x >> 8, format), from_fp8(__x >> 16, format),
            from_fp8(__x >> 24, format)};
  }
};

}  // namespace cornerturn::guest

using __nv_fp8_e4m3 = ::cornerturn::guest::Fp8<__NV_E4M3>;
using __nv_fp8_e5m2 = ::cornerturn::guest::Fp8<__NV_E5M2>;
using __nv_fp8x2_e4m3 = ::cornerturn::guest::Fp8x2<__NV_E4M3>;
using __nv_fp8x2_e5m2 = ::cornerturn::guest::Fp8x2<__NV_E5M2>;
using __nv_fp8x4_e4m3 = ::cornerturn::guest::Fp8x4<__NV_E4M3>;
using __nv_fp8x4_e5m2 = ::cornerturn::guest::Fp8x4<__NV_E5M2>;
