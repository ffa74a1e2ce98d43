// The functions of half and bfloat16 whose names hold the type's name: conversions, and parts of
// pairs.
#pragma once

#include "cornerturn_guest_small_floats.hpp"

#define CT_GUEST_SMALL_INTEGER(NAME, WORD, TYPE)                             \
  CT_GUEST_INLINE TYPE __##NAME##2##WORD##_rn(__ct_##NAME a) {               \
    return ::cornerturn::guest::to_narrow<TYPE>(__builtin_rint(a.value()));  \
  }                                                                          \
  CT_GUEST_INLINE TYPE __##NAME##2##WORD##_rz(__ct_##NAME a) {               \
    return ::cornerturn::guest::to_narrow<TYPE>(__builtin_trunc(a.value())); \
  }                                                                          \
  CT_GUEST_INLINE TYPE __##NAME##2##WORD##_ru(__ct_##NAME a) {               \
    return ::cornerturn::guest::to_narrow<TYPE>(__builtin_ceil(a.value()));  \
  }                                                                          \
  CT_GUEST_INLINE TYPE __##NAME##2##WORD##_rd(__ct_##NAME a) {               \
    return ::cornerturn::guest::to_narrow<TYPE>(__builtin_floor(a.value())); \
  }                                                                          \
  CT_GUEST_SMALL_FROM(NAME, WORD, TYPE)
#define CT_GUEST_SMALL_FROM(NAME, WORD, TYPE)                                                      \
  CT_GUEST_INLINE __ct_##NAME __##WORD##2##NAME##_rn(TYPE v) {                                     \
    return __ct_##NAME(v);                                                                         \
  }                                                                                                \
  CT_GUEST_INLINE __ct_##NAME __##WORD##2##NAME##_rz(TYPE v) {                                     \
    return __ct_##NAME::from(__ct_##NAME::rounded(v, ::cornerturn::guest::Rounding::toward_zero)); \
  }                                                                                                \
  CT_GUEST_INLINE __ct_##NAME __##WORD##2##NAME##_ru(TYPE v) {                                     \
    return __ct_##NAME::from(__ct_##NAME::rounded(v, ::cornerturn::guest::Rounding::up));          \
  }                                                                                                \
  CT_GUEST_INLINE __ct_##NAME __##WORD##2##NAME##_rd(TYPE v) {                                     \
    return __ct_##NAME::from(__ct_##NAME::rounded(v, ::cornerturn::guest::Rounding::down));        \
  }

#define CT_GUEST_SMALL_NAMES(NAME)                                                       \
  CT_GUEST_SMALL_FROM(NAME, float, float)                                                \
  CT_GUEST_SMALL_INTEGER(NAME, int, int)                                                 \
  CT_GUEST_SMALL_INTEGER(NAME, uint, unsigned)                                           \
  CT_GUEST_SMALL_INTEGER(NAME, short, short)                                             \
  CT_GUEST_SMALL_INTEGER(NAME, ushort, unsigned short)                                   \
  CT_GUEST_SMALL_INTEGER(NAME, ll, long long)                                            \
  CT_GUEST_SMALL_INTEGER(NAME, ull, unsigned long long)                                  \
  CT_GUEST_INLINE signed char __##NAME##2char_rz(__ct_##NAME a) {                        \
    return ::cornerturn::guest::to_narrow<signed char>(__builtin_trunc(a.value()));      \
  }                                                                                      \
  CT_GUEST_INLINE unsigned char __##NAME##2uchar_rz(__ct_##NAME a) {                     \
    return ::cornerturn::guest::to_narrow<unsigned char>(__builtin_trunc(a.value()));    \
  }                                                                                      \
  CT_GUEST_INLINE __ct_##NAME __float2##NAME(float v) {                                  \
    return __ct_##NAME(v);                                                               \
  }                                                                                      \
  CT_GUEST_INLINE __ct_##NAME __double2##NAME(double v) {                                \
    return __ct_##NAME(v);                                                               \
  }                                                                                      \
  CT_GUEST_INLINE float __##NAME##2float(__ct_##NAME a) {                                \
    return a;                                                                            \
  }                                                                                      \
  CT_GUEST_INLINE __ct_##NAME##2 __floats2##NAME##2_rn(float low, float high) {          \
    return __ct_##NAME##2(low, high);                                                    \
  }                                                                                      \
  CT_GUEST_INLINE __ct_##NAME##2 __float22##NAME##2_rn(float2 v) {                       \
    return __ct_##NAME##2(v.x, v.y);                                                     \
  }                                                                                      \
  CT_GUEST_INLINE __ct_##NAME##2 __float2##NAME##2_rn(float v) {                         \
    return __ct_##NAME##2(v, v);                                                         \
  }                                                                                      \
  CT_GUEST_INLINE float2 __##NAME##22float2(__ct_##NAME##2 a) {                          \
    return {a.x, a.y};                                                                   \
  }                                                                                      \
  CT_GUEST_INLINE __ct_##NAME##2 __##NAME##2##NAME##2(__ct_##NAME a) {                   \
    return __ct_##NAME##2(a, a);                                                         \
  }                                                                                      \
  CT_GUEST_INLINE __ct_##NAME##2 __halves2##NAME##2(__ct_##NAME low, __ct_##NAME high) { \
    return __ct_##NAME##2(low, high);                                                    \
  }                                                                                      \
  CT_GUEST_INLINE __ct_##NAME##2 make_##NAME##2(__ct_##NAME low, __ct_##NAME high) {     \
    return __ct_##NAME##2(low, high);                                                    \
  }                                                                                      \
  CT_GUEST_INLINE float __low2float(__ct_##NAME##2 a) {                                  \
    return a.x;                                                                          \
  }                                                                                      \
  CT_GUEST_INLINE float __high2float(__ct_##NAME##2 a) {                                 \
    return a.y;                                                                          \
  }                                                                                      \
  CT_GUEST_INLINE __ct_##NAME __low2##NAME(__ct_##NAME##2 a) {                           \
    return a.x;                                                                          \
  }                                                                                      \
  CT_GUEST_INLINE __ct_##NAME __high2##NAME(__ct_##NAME##2 a) {                          \
    return a.y;                                                                          \
  }                                                                                      \
  CT_GUEST_INLINE __ct_##NAME##2 __low2##NAME##2(__ct_##NAME##2 a) {                     \
    return __ct_##NAME##2(a.x, a.x);                                                     \
  }                                                                                      \
  CT_GUEST_INLINE __ct_##NAME##2 __high2##NAME##2(__ct_##NAME##2 a) {                    \
    return __ct_##NAME##2(a.y, a.y);                                                     \
  }                                                                                      \
  CT_GUEST_INLINE __ct_##NAME##2 __lows2##NAME##2(__ct_##NAME##2 a, __ct_##NAME##2 b) {  \
    return __ct_##NAME##2(a.x, b.x);                                                     \
  }                                                                                      \
  CT_GUEST_INLINE __ct_##NAME##2 __highs2##NAME##2(__ct_##NAME##2 a, __ct_##NAME##2 b) { \
    return __ct_##NAME##2(a.y, b.y);                                                     \
  }                                                                                      \
  CT_GUEST_INLINE __ct_##NAME##2 __lowhigh2highlow(__ct_##NAME##2 a) {                   \
    return __ct_##NAME##2(a.y, a.x);                                                     \
  }                                                                                      \
  CT_GUEST_INLINE short __##NAME##_as_short(__ct_##NAME a) {                             \
    return static_cast<short>(a.__x);                                                    \
  }                                                                                      \
  CT_GUEST_INLINE unsigned short __##NAME##_as_ushort(__ct_##NAME a) {                   \
    return a.__x;                                                                        \
  }                                                                                      \
  CT_GUEST_INLINE __ct_##NAME __short_as_##NAME(short v) {                               \
    return __ct_##NAME::from(static_cast<unsigned short>(v));                            \
  }                                                                                      \
  CT_GUEST_INLINE __ct_##NAME __ushort_as_##NAME(unsigned short v) {                     \
    return __ct_##NAME::from(v);                                                         \
  }

namespace cornerturn::guest {

// NaN gives 0, and what is too large the nearest value that there is.
template <class To>
CT_GUEST_PLAIN To to_narrow(double v) {
  if constexpr (sizeof(To) >= 4) {
    return to_integer<To>(v);
  } else {
    constexpr int bits = 8 * sizeof(To);
    constexpr int least = To(-1) < To(0) ? -(1 << (bits - 1)) : 0;
    constexpr int most = To(-1) < To(0) ? (1 << (bits - 1)) - 1 : (1 << bits) - 1;
    const int wide = to_integer<int>(v);
    return static_cast<To>(wide < least ? least : wide > most ? most : wide);
  }
}

}  // namespace cornerturn::guest
