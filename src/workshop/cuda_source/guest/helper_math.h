// Arithmetic of vectors, number by number, by the names that sample programs use.
#pragma once

#include "cornerturn_guest.hpp"

typedef unsigned uint;
typedef unsigned short ushort;

#define CT_GUEST_EACH_2(F) F(x), F(y)
#define CT_GUEST_EACH_3(F) F(x), F(y), F(z)
#define CT_GUEST_EACH_4(F) F(x), F(y), F(z), F(w)
#define CT_GUEST_BINARY(V, T, N, WORD, OPERATOR)             \
  CT_GUEST_INLINE V operator OPERATOR(V a, V b) {            \
    return make_##V(CT_GUEST_EACH_##N(CT_GUEST_##WORD));     \
  }                                                          \
  CT_GUEST_INLINE V operator OPERATOR(V a, T s) {            \
    return make_##V(CT_GUEST_EACH_##N(CT_GUEST_##WORD##_S)); \
  }                                                          \
  CT_GUEST_INLINE V operator OPERATOR(T s, V b) {            \
    return make_##V(CT_GUEST_EACH_##N(CT_GUEST_S_##WORD));   \
  }                                                          \
  CT_GUEST_INLINE void operator OPERATOR##=(V& a, V b) {     \
    a = a OPERATOR b;                                        \
  }                                                          \
  CT_GUEST_INLINE void operator OPERATOR##=(V& a, T s) {     \
    a = a OPERATOR s;                                        \
  }
#define CT_GUEST_ADD(I) a.I + b.I
#define CT_GUEST_ADD_S(I) a.I + s
#define CT_GUEST_S_ADD(I) s + b.I
#define CT_GUEST_SUB(I) a.I - b.I
#define CT_GUEST_SUB_S(I) a.I - s
#define CT_GUEST_S_SUB(I) s - b.I
#define CT_GUEST_MUL(I) a.I* b.I
#define CT_GUEST_MUL_S(I) a.I* s
#define CT_GUEST_S_MUL(I) s* b.I
#define CT_GUEST_DIV(I) a.I / b.I
#define CT_GUEST_DIV_S(I) a.I / s
#define CT_GUEST_S_DIV(I) s / b.I
#define CT_GUEST_NEG(I) -a.I
#define CT_GUEST_ONE(I) s
#define CT_GUEST_LEAST(I) min(a.I, b.I)
#define CT_GUEST_MOST(I) max(a.I, b.I)
#define CT_GUEST_SQUARE(I) sum += a.I * b.I

#define CT_GUEST_VECTOR_MATH(V, T, N)                   \
  CT_GUEST_BINARY(V, T, N, ADD, +)                      \
  CT_GUEST_BINARY(V, T, N, SUB, -)                      \
  CT_GUEST_BINARY(V, T, N, MUL, *)                      \
  CT_GUEST_INLINE V make_##V(T s) {                     \
    return make_##V(CT_GUEST_EACH_##N(CT_GUEST_ONE));   \
  }                                                     \
  CT_GUEST_INLINE V min(V a, V b) {                     \
    return make_##V(CT_GUEST_EACH_##N(CT_GUEST_LEAST)); \
  }                                                     \
  CT_GUEST_INLINE V max(V a, V b) {                     \
    return make_##V(CT_GUEST_EACH_##N(CT_GUEST_MOST));  \
  }                                                     \
  CT_GUEST_INLINE V clamp(V v, V low, V high) {         \
    return max(low, min(v, high));                      \
  }                                                     \
  CT_GUEST_INLINE T dot(V a, V b) {                     \
    T sum = 0;                                          \
    CT_GUEST_EACH_##N(CT_GUEST_SQUARE);                 \
    return sum;                                         \
  }
#define CT_GUEST_SIGNED_MATH(V, N)                    \
  CT_GUEST_INLINE V operator-(V a) {                  \
    return make_##V(CT_GUEST_EACH_##N(CT_GUEST_NEG)); \
  }
#define CT_GUEST_FLOAT_MATH(V, N)             \
  CT_GUEST_BINARY(V, float, N, DIV, /)        \
  CT_GUEST_INLINE float length(V v) {         \
    return sqrtf(dot(v, v));                  \
  }                                           \
  CT_GUEST_INLINE V normalize(V v) {          \
    return v * rsqrtf(dot(v, v));             \
  }                                           \
  CT_GUEST_INLINE V lerp(V a, V b, float t) { \
    return a + t * (b - a);                   \
  }                                           \
  CT_GUEST_INLINE V fminf(V a, V b) {         \
    return min(a, b);                         \
  }                                           \
  CT_GUEST_INLINE V fmaxf(V a, V b) {         \
    return max(a, b);                         \
  }                                           \
  CT_GUEST_INLINE V reflect(V i, V n) {       \
    return i - 2.0f * n * dot(n, i);          \
  }

#if __cplusplus < 202002L  // C++20 has one of its own
CT_GUEST_INLINE float lerp(float a, float b, float t) {
  return a + t * (b - a);
}
#endif
CT_GUEST_INLINE float clamp(float v, float low, float high) {
  return fmaxf(low, fminf(v, high));
}
CT_GUEST_INLINE int clamp(int v, int low, int high) {
  return max(low, min(v, high));
}
CT_GUEST_INLINE unsigned clamp(unsigned v, unsigned low, unsigned high) {
  return max(low, min(v, high));
}
CT_GUEST_VECTOR_MATH(float2, float, 2)
CT_GUEST_VECTOR_MATH(float3, float, 3)
CT_GUEST_VECTOR_MATH(float4, float, 4)
CT_GUEST_VECTOR_MATH(int2, int, 2)
CT_GUEST_VECTOR_MATH(int3, int, 3)
CT_GUEST_VECTOR_MATH(int4, int, 4)
CT_GUEST_VECTOR_MATH(uint2, unsigned, 2)
CT_GUEST_VECTOR_MATH(uint3, unsigned, 3)
CT_GUEST_VECTOR_MATH(uint4, unsigned, 4)
CT_GUEST_SIGNED_MATH(float2, 2)
CT_GUEST_SIGNED_MATH(float3, 3)
CT_GUEST_SIGNED_MATH(float4, 4)
CT_GUEST_SIGNED_MATH(int2, 2)
CT_GUEST_SIGNED_MATH(int3, 3)
CT_GUEST_SIGNED_MATH(int4, 4)
CT_GUEST_FLOAT_MATH(float2, 2)
CT_GUEST_FLOAT_MATH(float3, 3)
CT_GUEST_FLOAT_MATH(float4, 4)

CT_GUEST_INLINE float3 cross(float3 a, float3 b) {
  return make_float3(a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x);
}
CT_GUEST_INLINE float2 make_float2(float3 v) {
  return make_float2(v.x, v.y);
}
CT_GUEST_INLINE float3 make_float3(float2 v, float z) {
  return make_float3(v.x, v.y, z);
}
CT_GUEST_INLINE float3 make_float3(float2 v) {
  return make_float3(v.x, v.y, 0);
}
CT_GUEST_INLINE float3 make_float3(float4 v) {
  return make_float3(v.x, v.y, v.z);
}
CT_GUEST_INLINE float4 make_float4(float3 v) {
  return make_float4(v.x, v.y, v.z, 0);
}
CT_GUEST_INLINE float4 make_float4(float3 v, float w) {
  return make_float4(v.x, v.y, v.z, w);
}
CT_GUEST_INLINE float2 make_float2(int2 v) {
  return make_float2(static_cast<float>(v.x), static_cast<float>(v.y));
}
