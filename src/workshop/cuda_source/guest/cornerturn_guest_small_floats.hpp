// half and bfloat16, one and two at a time: CUDA's operators and functions that have one name for
// both types. Each result is the exact one, rounded once. The functions are friends, which are
// found by the type of an argument, so that the other arguments convert as in CUDA.
#pragma once

#include "cornerturn_guest_atomics.hpp"
#include "cornerturn_guest_rounding.hpp"

#define CT_GUEST_FRIEND friend CT_GUEST_INLINE

namespace cornerturn::guest {

// What the functions calculate, on bits. g++ does not show us a struct that is passed by value
// straight from memory, so that whatever takes a half is inlined and calls one of these with
// numbers.
template <class F>
CT_GUEST_PLAIN unsigned small_add(unsigned a, unsigned b) {
  return encode<F>(odd_sum(decode<F>(a), decode<F>(b)));
}
template <class F>
CT_GUEST_PLAIN unsigned small_multiply(unsigned a, unsigned b) {
  return encode<F>(static_cast<double>(decode<F>(a)) * decode<F>(b));
}
template <class F>
CT_GUEST_PLAIN unsigned small_divide(unsigned a, unsigned b) {
  return encode<F>(static_cast<double>(decode<F>(a)) / decode<F>(b));
}
template <class F>
CT_GUEST_PLAIN unsigned small_fma(unsigned a, unsigned b, unsigned c) {
  return encode<F>(odd_sum(static_cast<double>(decode<F>(a)) * decode<F>(b), decode<F>(c)));
}
// To [0, 1], and a NaN to 0.
template <class F>
CT_GUEST_PLAIN unsigned small_saturate(unsigned a) {
  const float v = decode<F>(a);
  return v > 0 ? (v < 1 ? a : encode<F>(1)) : 0;
}
template <class F>
CT_GUEST_PLAIN bool small_is_nan(unsigned a) {
  return (a & 0x7fffu) > largest_finite<F> + 1;
}
template <class F>
CT_GUEST_PLAIN bool small_is_infinite(unsigned a) {
  return (a & 0x7fffu) == largest_finite<F> + 1;
}
// -1, 0 and 1 as `a` is less than, equal to or greater than `b`, and 2 where one of them is NaN.
template <class F>
CT_GUEST_PLAIN int small_order(unsigned a, unsigned b) {
  const float x = decode<F>(a);
  const float y = decode<F>(b);
  return x < y ? -1 : x > y ? 1 : x == y ? 0 : 2;
}
// The other argument is the result where one is NaN, and -0 is less than +0.
template <class F>
CT_GUEST_PLAIN unsigned small_max(unsigned a, unsigned b) {
  if (small_is_nan<F>(a) || small_is_nan<F>(b)) {
    return !small_is_nan<F>(a) ? a : !small_is_nan<F>(b) ? b : F::nan;
  }
  const int order = small_order<F>(a, b);
  return order == 1 || (order == 0 && a < b) ? a : b;
}
template <class F>
CT_GUEST_PLAIN unsigned small_min(unsigned a, unsigned b) {
  if (small_is_nan<F>(a) || small_is_nan<F>(b)) {
    return !small_is_nan<F>(a) ? a : !small_is_nan<F>(b) ? b : F::nan;
  }
  const int order = small_order<F>(a, b);
  return order == -1 || (order == 0 && a > b) ? a : b;
}
template <class F>
CT_GUEST_PLAIN unsigned small_relu(unsigned a) {
  return decode<F>(a) < 0 ? 0 : a;
}
template <class F, class T>
CT_GUEST_PLAIN unsigned small_from(T v, Rounding mode = Rounding::nearest) {
  return encode<F>(as_odd_double(v), mode);
}

// A function of one value, by its name.
#define CT_GUEST_SMALL_FUNCTIONS(X)  \
  X(hsqrt, __builtin_sqrt(v))        \
  X(hrsqrt, 1 / __builtin_sqrt(v))   \
  X(hrcp, 1 / v)                     \
  X(hexp, __builtin_exp(v))          \
  X(hexp2, __builtin_exp2(v))        \
  X(hexp10, __builtin_pow(10., v))   \
  X(hlog, __builtin_log(v))          \
  X(hlog2, __builtin_log2(v))        \
  X(hlog10, __builtin_log10(v))      \
  X(hsin, __builtin_sin(v))          \
  X(hcos, __builtin_cos(v))          \
  X(htanh, __builtin_tanh(v))        \
  X(htanh_approx, __builtin_tanh(v)) \
  X(hfloor, __builtin_floor(v))      \
  X(hceil, __builtin_ceil(v))        \
  X(htrunc, __builtin_trunc(v))      \
  X(hrint, __builtin_rint(v))
#define CT_GUEST_SMALL_FUNCTION(NAME, EXPRESSION)    \
  template <class F>                                 \
  CT_GUEST_PLAIN unsigned small_##NAME(unsigned a) { \
    const double v = decode<F>(a);                   \
    return encode<F>(EXPRESSION);                    \
  }
CT_GUEST_SMALL_FUNCTIONS(CT_GUEST_SMALL_FUNCTION)
#undef CT_GUEST_SMALL_FUNCTION

template <class F>
struct Pair;

template <class F>
struct Small {
  unsigned short __x;

  Small() = default;
  template <class T, class = std::enable_if_t<std::is_arithmetic_v<T>>>
  CT_GUEST_INLINE Small(T v) : __x(static_cast<unsigned short>(small_from<F>(v))) {}
  CT_GUEST_INLINE operator float() const { return decode<F>(__x); }
  CT_GUEST_INLINE static Small from(unsigned bits) {
    Small s;
    s.__x = static_cast<unsigned short>(bits);
    return s;
  }
  template <class T>
  CT_GUEST_INLINE static unsigned rounded(T v, Rounding mode) {
    return small_from<F>(v, mode);
  }
  CT_GUEST_INLINE double value() const { return decode<F>(__x); }

  // Arithmetic
#define CT_GUEST_SMALL_2(NAME, EXPRESSION)       \
  CT_GUEST_FRIEND Small NAME(Small a, Small b) { \
    return from(EXPRESSION);                     \
  }
#define CT_GUEST_SMALL_3(NAME, EXPRESSION)                \
  CT_GUEST_FRIEND Small NAME(Small a, Small b, Small c) { \
    return from(EXPRESSION);                              \
  }
  CT_GUEST_SMALL_2(__hadd, small_add<F>(a.__x, b.__x))
  CT_GUEST_SMALL_2(__hsub, small_add<F>(a.__x, b.__x ^ 0x8000u))
  CT_GUEST_SMALL_2(__hmul, small_multiply<F>(a.__x, b.__x))
  CT_GUEST_SMALL_2(__hdiv, small_divide<F>(a.__x, b.__x))
  CT_GUEST_SMALL_2(__hadd_rn, small_add<F>(a.__x, b.__x))
  CT_GUEST_SMALL_2(__hsub_rn, small_add<F>(a.__x, b.__x ^ 0x8000u))
  CT_GUEST_SMALL_2(__hmul_rn, small_multiply<F>(a.__x, b.__x))
  CT_GUEST_SMALL_2(__hadd_sat, small_saturate<F>(small_add<F>(a.__x, b.__x)))
  CT_GUEST_SMALL_2(__hsub_sat, small_saturate<F>(small_add<F>(a.__x, b.__x ^ 0x8000u)))
  CT_GUEST_SMALL_2(__hmul_sat, small_saturate<F>(small_multiply<F>(a.__x, b.__x)))
  CT_GUEST_SMALL_2(__hmax, small_max<F>(a.__x, b.__x))
  CT_GUEST_SMALL_2(__hmin, small_min<F>(a.__x, b.__x))
  CT_GUEST_SMALL_2(__hmax_nan, __hisnan(a) || __hisnan(b) ? F::nan : small_max<F>(a.__x, b.__x))
  CT_GUEST_SMALL_2(__hmin_nan, __hisnan(a) || __hisnan(b) ? F::nan : small_min<F>(a.__x, b.__x))
  CT_GUEST_SMALL_3(__hfma, small_fma<F>(a.__x, b.__x, c.__x))
  CT_GUEST_SMALL_3(__hfma_sat, small_saturate<F>(small_fma<F>(a.__x, b.__x, c.__x)))
  CT_GUEST_SMALL_3(__hfma_relu, small_relu<F>(small_fma<F>(a.__x, b.__x, c.__x)))
#undef CT_GUEST_SMALL_2
#undef CT_GUEST_SMALL_3
  CT_GUEST_FRIEND Small __hneg(Small a) {
    return from(a.__x ^ 0x8000u);
  }
  CT_GUEST_FRIEND Small __habs(Small a) {
    return from(a.__x & 0x7fffu);
  }

  // Comparisons. Those that end in u are true where an argument is NaN.
  CT_GUEST_FRIEND bool __hisnan(Small a) {
    return small_is_nan<F>(a.__x);
  }
  CT_GUEST_FRIEND int __hisinf(Small a) {
    return !small_is_infinite<F>(a.__x) ? 0 : (a.__x & 0x8000u) != 0 ? -1 : 1;
  }
#define CT_GUEST_COMPARE(NAME, CONDITION)           \
  CT_GUEST_FRIEND bool NAME(Small a, Small b) {     \
    const int order = small_order<F>(a.__x, b.__x); \
    return order != 2 && (CONDITION);               \
  }                                                 \
  CT_GUEST_FRIEND bool NAME##u(Small a, Small b) {  \
    const int order = small_order<F>(a.__x, b.__x); \
    return order == 2 || (CONDITION);               \
  }
  CT_GUEST_COMPARE(__heq, order == 0)
  CT_GUEST_COMPARE(__hne, order != 0)
  CT_GUEST_COMPARE(__hlt, order < 0)
  CT_GUEST_COMPARE(__hle, order <= 0)
  CT_GUEST_COMPARE(__hgt, order > 0)
  CT_GUEST_COMPARE(__hge, order >= 0)
#undef CT_GUEST_COMPARE

#define CT_GUEST_SMALL_FUNCTION(NAME, EXPRESSION) \
  CT_GUEST_FRIEND Small NAME(Small a) {           \
    return from(small_##NAME<F>(a.__x));          \
  }
  CT_GUEST_SMALL_FUNCTIONS(CT_GUEST_SMALL_FUNCTION)
#undef CT_GUEST_SMALL_FUNCTION
#undef CT_GUEST_SMALL_FUNCTIONS

  // Operators
  CT_GUEST_FRIEND Small operator+(Small a, Small b) {
    return __hadd(a, b);
  }
  CT_GUEST_FRIEND Small operator-(Small a, Small b) {
    return __hsub(a, b);
  }
  CT_GUEST_FRIEND Small operator*(Small a, Small b) {
    return __hmul(a, b);
  }
  CT_GUEST_FRIEND Small operator/(Small a, Small b) {
    return __hdiv(a, b);
  }
  CT_GUEST_FRIEND Small operator+(Small a) {
    return a;
  }
  CT_GUEST_FRIEND Small operator-(Small a) {
    return __hneg(a);
  }
  CT_GUEST_FRIEND bool operator==(Small a, Small b) {
    return __heq(a, b);
  }
  CT_GUEST_FRIEND bool operator!=(Small a, Small b) {
    return __hneu(a, b);
  }
  CT_GUEST_FRIEND bool operator<(Small a, Small b) {
    return __hlt(a, b);
  }
  CT_GUEST_FRIEND bool operator<=(Small a, Small b) {
    return __hle(a, b);
  }
  CT_GUEST_FRIEND bool operator>(Small a, Small b) {
    return __hgt(a, b);
  }
  CT_GUEST_FRIEND bool operator>=(Small a, Small b) {
    return __hge(a, b);
  }
  // These read and write what is the user's.
  CT_GUEST_INLINE Small& operator+=(Small b) {
    return *this = *this + b;
  }
  CT_GUEST_INLINE Small& operator-=(Small b) {
    return *this = *this - b;
  }
  CT_GUEST_INLINE Small& operator*=(Small b) {
    return *this = *this * b;
  }
  CT_GUEST_INLINE Small& operator/=(Small b) {
    return *this = *this / b;
  }
  CT_GUEST_INLINE Small& operator++() {
    return *this = *this + Small(1);
  }
  CT_GUEST_INLINE Small& operator--() {
    return *this = *this - Small(1);
  }
};

// Two values in 4 bytes. `x` is the low one.
template <class F>
struct alignas(4) Pair {
  using S = Small<F>;
  S x, y;

  Pair() = default;
  CT_GUEST_INLINE Pair(S low, S high) : x(low), y(high) {}

#define CT_GUEST_PAIR_1(NAME, ONE)    \
  CT_GUEST_FRIEND Pair NAME(Pair a) { \
    return Pair(ONE(a.x), ONE(a.y));  \
  }
#define CT_GUEST_PAIR_2(NAME, ONE)             \
  CT_GUEST_FRIEND Pair NAME(Pair a, Pair b) {  \
    return Pair(ONE(a.x, b.x), ONE(a.y, b.y)); \
  }
#define CT_GUEST_PAIR_3(NAME, ONE)                       \
  CT_GUEST_FRIEND Pair NAME(Pair a, Pair b, Pair c) {    \
    return Pair(ONE(a.x, b.x, c.x), ONE(a.y, b.y, c.y)); \
  }
  CT_GUEST_PAIR_2(__hadd2, __hadd)
  CT_GUEST_PAIR_2(__hsub2, __hsub)
  CT_GUEST_PAIR_2(__hmul2, __hmul)
  CT_GUEST_PAIR_2(__h2div, __hdiv)
  CT_GUEST_PAIR_2(__hadd2_rn, __hadd)
  CT_GUEST_PAIR_2(__hsub2_rn, __hsub)
  CT_GUEST_PAIR_2(__hmul2_rn, __hmul)
  CT_GUEST_PAIR_2(__hadd2_sat, __hadd_sat)
  CT_GUEST_PAIR_2(__hsub2_sat, __hsub_sat)
  CT_GUEST_PAIR_2(__hmul2_sat, __hmul_sat)
  CT_GUEST_PAIR_2(__hmax2, __hmax)
  CT_GUEST_PAIR_2(__hmin2, __hmin)
  CT_GUEST_PAIR_2(__hmax2_nan, __hmax_nan)
  CT_GUEST_PAIR_2(__hmin2_nan, __hmin_nan)
  CT_GUEST_PAIR_3(__hfma2, __hfma)
  CT_GUEST_PAIR_3(__hfma2_sat, __hfma_sat)
  CT_GUEST_PAIR_3(__hfma2_relu, __hfma_relu)
  CT_GUEST_PAIR_1(__hneg2, __hneg)
  CT_GUEST_PAIR_1(__habs2, __habs)
  CT_GUEST_PAIR_1(__hisnan2, __hisnan)
  CT_GUEST_PAIR_1(h2sqrt, hsqrt)
  CT_GUEST_PAIR_1(h2rsqrt, hrsqrt)
  CT_GUEST_PAIR_1(h2rcp, hrcp)
  CT_GUEST_PAIR_1(h2exp, hexp)
  CT_GUEST_PAIR_1(h2exp2, hexp2)
  CT_GUEST_PAIR_1(h2exp10, hexp10)
  CT_GUEST_PAIR_1(h2log, hlog)
  CT_GUEST_PAIR_1(h2log2, hlog2)
  CT_GUEST_PAIR_1(h2log10, hlog10)
  CT_GUEST_PAIR_1(h2sin, hsin)
  CT_GUEST_PAIR_1(h2cos, hcos)
  CT_GUEST_PAIR_1(h2tanh, htanh)
  CT_GUEST_PAIR_1(h2tanh_approx, htanh)
  CT_GUEST_PAIR_1(h2floor, hfloor)
  CT_GUEST_PAIR_1(h2ceil, hceil)
  CT_GUEST_PAIR_1(h2trunc, htrunc)
  CT_GUEST_PAIR_1(h2rint, hrint)

  // A comparison of pairs gives 1 or 0 for each, or (with a b) whether both are true, or bits
  // (_mask).
#define CT_GUEST_PAIR_COMPARE(NAME)                                                         \
  CT_GUEST_PAIR_2(__h##NAME##2, __h##NAME)                                                  \
  CT_GUEST_PAIR_2(__h##NAME##u2, __h##NAME##u)                                              \
  CT_GUEST_FRIEND bool __hb##NAME##2(Pair a, Pair b) {                                      \
    return __h##NAME(a.x, b.x) && __h##NAME(a.y, b.y);                                      \
  }                                                                                         \
  CT_GUEST_FRIEND bool __hb##NAME##u2(Pair a, Pair b) {                                     \
    return __h##NAME##u(a.x, b.x) && __h##NAME##u(a.y, b.y);                                \
  }                                                                                         \
  CT_GUEST_FRIEND unsigned __h##NAME##2_mask(Pair a, Pair b) {                              \
    return (__h##NAME(a.x, b.x) ? 0xffffu : 0u) | (__h##NAME(a.y, b.y) ? 0xffff0000u : 0u); \
  }
  CT_GUEST_PAIR_COMPARE(eq)
  CT_GUEST_PAIR_COMPARE(ne)
  CT_GUEST_PAIR_COMPARE(lt)
  CT_GUEST_PAIR_COMPARE(le)
  CT_GUEST_PAIR_COMPARE(gt)
  CT_GUEST_PAIR_COMPARE(ge)
#undef CT_GUEST_PAIR_COMPARE
#undef CT_GUEST_PAIR_1
#undef CT_GUEST_PAIR_2
#undef CT_GUEST_PAIR_3

  CT_GUEST_FRIEND Pair operator+(Pair a, Pair b) {
    return __hadd2(a, b);
  }
  CT_GUEST_FRIEND Pair operator-(Pair a, Pair b) {
    return __hsub2(a, b);
  }
  CT_GUEST_FRIEND Pair operator*(Pair a, Pair b) {
    return __hmul2(a, b);
  }
  CT_GUEST_FRIEND Pair operator/(Pair a, Pair b) {
    return __h2div(a, b);
  }
  CT_GUEST_FRIEND Pair operator-(Pair a) {
    return __hneg2(a);
  }
  CT_GUEST_FRIEND bool operator==(Pair a, Pair b) {
    return __hbeq2(a, b);
  }
  CT_GUEST_FRIEND bool operator!=(Pair a, Pair b) {
    return __hbneu2(a, b);
  }
  CT_GUEST_FRIEND bool operator<(Pair a, Pair b) {
    return __hblt2(a, b);
  }
  CT_GUEST_FRIEND bool operator>(Pair a, Pair b) {
    return __hbgt2(a, b);
  }
  CT_GUEST_INLINE Pair& operator+=(Pair b) {
    return *this = *this + b;
  }
  CT_GUEST_INLINE Pair& operator-=(Pair b) {
    return *this = *this - b;
  }
  CT_GUEST_INLINE Pair& operator*=(Pair b) {
    return *this = *this * b;
  }
  CT_GUEST_INLINE Pair& operator/=(Pair b) {
    return *this = *this / b;
  }
};

// What the front end writes for instructions of inline assembly on them.
template <class F>
CT_GUEST_PLAIN inline Small<F> asm_fused(Small<F> a, Small<F> b, Small<F> c) {
  return __hfma(a, b, c);
}
template <class F>
CT_GUEST_PLAIN inline Pair<F> asm_fused(Pair<F> a, Pair<F> b, Pair<F> c) {
  return __hfma2(a, b, c);
}
template <class F>
CT_GUEST_PLAIN inline Small<F> asm_least(Small<F> a, Small<F> b) {
  return __hmin(a, b);
}
template <class F>
CT_GUEST_PLAIN inline Pair<F> asm_least(Pair<F> a, Pair<F> b) {
  return __hmin2(a, b);
}
template <class F>
CT_GUEST_PLAIN inline Small<F> asm_most(Small<F> a, Small<F> b) {
  return __hmax(a, b);
}
template <class F>
CT_GUEST_PLAIN inline Pair<F> asm_most(Pair<F> a, Pair<F> b) {
  return __hmax2(a, b);
}
template <char operation, class V>
CT_GUEST_PLAIN inline V asm_small(V a, V b, V c) {
  return operation == '+'   ? a + b
         : operation == '-' ? a - b
         : operation == '*' ? a * b
         : operation == 'f' ? asm_fused(a, b, c)
         : operation == 'm' ? asm_least(a, b)
                            : asm_most(a, b);
}
#define CT_GUEST_ASM_SMALL(NAME, TYPE, BITS)                                                \
  template <char operation>                                                                 \
  CT_GUEST_PLAIN inline BITS NAME(BITS a, BITS b, BITS c = 0) {                             \
    return static_cast<BITS>(to_bits(                                                       \
        asm_small<operation>(from_bits<TYPE>(a), from_bits<TYPE>(b), from_bits<TYPE>(c)))); \
  }
CT_GUEST_ASM_SMALL(asm_f16, Small<HalfFormat>, std::uint16_t)
CT_GUEST_ASM_SMALL(asm_f16x2, Pair<HalfFormat>, std::uint32_t)
CT_GUEST_ASM_SMALL(asm_bf16, Small<Bfloat16Format>, std::uint16_t)
CT_GUEST_ASM_SMALL(asm_bf16x2, Pair<Bfloat16Format>, std::uint32_t)
#undef CT_GUEST_ASM_SMALL

}  // namespace cornerturn::guest

template <class F>
CT_GUEST_INLINE ::cornerturn::guest::Small<F> atomicAdd(
    ::cornerturn::guest::Small<F>* at,
    ::cornerturn::guest::same_t<::cornerturn::guest::Small<F>> value) {
  using S = ::cornerturn::guest::Small<F>;
  return ::cornerturn::guest::atomic_update<::cornerturn::guest::Add, S>(at, value);
}
template <class F>
CT_GUEST_INLINE ::cornerturn::guest::Pair<F> atomicAdd(
    ::cornerturn::guest::Pair<F>* at,
    ::cornerturn::guest::same_t<::cornerturn::guest::Pair<F>> value) {
  using P = ::cornerturn::guest::Pair<F>;
  return ::cornerturn::guest::atomic_update<::cornerturn::guest::Add, P>(at, value);
}
