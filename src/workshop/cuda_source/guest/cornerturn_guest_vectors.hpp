// CUDA's vector types. They are plain structs with CUDA's alignments, so that unions, braces and
// memcpy work with them as in CUDA, and a copy of one is a single access of 2, 4, 8 or 16 bytes.
#pragma once

#include "cornerturn_guest_words.hpp"

// The result of make_float4 has a name of its own, so that g++ stores it as one and not number by
// number where it goes.
#define CT_GUEST_VECTORS(NAME, ELEMENT, ALIGN1, ALIGN2, ALIGN4)                        \
  struct alignas(ALIGN1) NAME##1 {                                                     \
    ELEMENT x;                                                                         \
  };                                                                                   \
  struct alignas(ALIGN2) NAME##2 {                                                     \
    ELEMENT x, y;                                                                      \
  };                                                                                   \
  struct alignas(ALIGN1) NAME##3 {                                                     \
    ELEMENT x, y, z;                                                                   \
  };                                                                                   \
  struct alignas(ALIGN4) NAME##4 {                                                     \
    ELEMENT x, y, z, w;                                                                \
  };                                                                                   \
  CT_GUEST_INLINE NAME##1 make_##NAME##1(ELEMENT x) {                                  \
    NAME##1 vector = {x};                                                              \
    return vector;                                                                     \
  }                                                                                    \
  CT_GUEST_INLINE NAME##2 make_##NAME##2(ELEMENT x, ELEMENT y) {                       \
    NAME##2 vector = {x, y};                                                           \
    return vector;                                                                     \
  }                                                                                    \
  CT_GUEST_INLINE NAME##3 make_##NAME##3(ELEMENT x, ELEMENT y, ELEMENT z) {            \
    NAME##3 vector = {x, y, z};                                                        \
    return vector;                                                                     \
  }                                                                                    \
  CT_GUEST_INLINE NAME##4 make_##NAME##4(ELEMENT x, ELEMENT y, ELEMENT z, ELEMENT w) { \
    NAME##4 vector = {x, y, z, w};                                                     \
    return vector;                                                                     \
  }

CT_GUEST_VECTORS(char, signed char, 1, 2, 4)
CT_GUEST_VECTORS(uchar, unsigned char, 1, 2, 4)
CT_GUEST_VECTORS(short, short, 2, 4, 8)
CT_GUEST_VECTORS(ushort, unsigned short, 2, 4, 8)
CT_GUEST_VECTORS(int, int, 4, 8, 16)
CT_GUEST_VECTORS(uint, unsigned, 4, 8, 16)
CT_GUEST_VECTORS(long, long, 8, 16, 16)
CT_GUEST_VECTORS(ulong, unsigned long, 8, 16, 16)
CT_GUEST_VECTORS(longlong, long long, 8, 16, 16)
CT_GUEST_VECTORS(ulonglong, unsigned long long, 8, 16, 16)
CT_GUEST_VECTORS(float, float, 4, 8, 16)
CT_GUEST_VECTORS(double, double, 8, 16, 16)
#undef CT_GUEST_VECTORS

// The front end writes float2(whole(float2{a, b})) for float2{a, b}.
namespace cornerturn::guest {
template <class T>
CT_GUEST_INLINE constexpr const T& whole(const T& vector) {
  return vector;
}
}  // namespace cornerturn::guest

using double4_16a = double4;
using longlong4_16a = longlong4;
using ulonglong4_16a = ulonglong4;

struct dim3 {
  unsigned x, y, z;
  constexpr dim3(unsigned columns = 1, unsigned rows = 1, unsigned layers = 1)
      : x(columns), y(rows), z(layers) {}
  constexpr dim3(uint3 v) : x(v.x), y(v.y), z(v.z) {}
  constexpr operator uint3() const { return {x, y, z}; }
};
