// CUDA's functions on float and double that the C library does not have. Fast-math functions give
// the result rounded to the nearest float, which a GPU only approximates.
#pragma once

#include <math.h>

#include <cfenv>
#include <cfloat>
#include <climits>
#include <cmath>

#include "cornerturn_guest_integers.hpp"

namespace cornerturn::guest {

// Calculates in another rounding mode. The volatile copies keep the operation between the two
// changes.
template <int mode, class T, class Operation, class... A>
CT_GUEST_PLAIN __attribute__((noinline)) T rounded(Operation operation, A... a) {
  std::fesetround(mode);
  volatile T result = operation(static_cast<volatile A&>(a)...);
  std::fesetround(FE_TONEAREST);
  return result;
}

// A conversion to an integer: NaN gives 0 and what is too large the nearest value that there is.
template <class To, class From>
CT_GUEST_PLAIN To to_integer(From v) {
  constexpr To least =
      static_cast<To>(sizeof(To) == 4 ? (To(-1) < 0 ? INT_MIN : 0) : (To(-1) < 0 ? LLONG_MIN : 0));
  constexpr To most = sizeof(To) == 4 ? (To(-1) < 0 ? To(INT_MAX) : To(UINT_MAX))
                                      : (To(-1) < 0 ? To(LLONG_MAX) : To(ULLONG_MAX));
  if (v != v) {
    return 0;
  }
  if (v <= static_cast<From>(least)) {
    return least;
  }
  // 2^31, 2^32, 2^63 or 2^64, which is a power of two and exact in both types.
  if (v >= 2 * static_cast<From>(most / 2 + 1)) {
    return most;
  }
  return static_cast<To>(v);
}

}  // namespace cornerturn::guest

#define CT_GUEST_MIN_MAX(TYPE, A, B, SUFFIX) \
  CT_GUEST_VALUE TYPE min(A a, B b) {        \
    return __builtin_fmin##SUFFIX(a, b);     \
  }                                          \
  CT_GUEST_VALUE TYPE max(A a, B b) {        \
    return __builtin_fmax##SUFFIX(a, b);     \
  }
CT_GUEST_MIN_MAX(float, float, float, f)
CT_GUEST_MIN_MAX(double, double, double, )
CT_GUEST_MIN_MAX(double, float, double, )
CT_GUEST_MIN_MAX(double, double, float, )
#undef CT_GUEST_MIN_MAX

// Bits
// ---------------------------------------------------------------------------------------------
#define CT_GUEST_SAME_BITS(NAME, TO, FROM) \
  CT_GUEST_VALUE TO NAME(FROM v) {         \
    TO to;                                 \
    __builtin_memcpy(&to, &v, sizeof(to)); \
    return to;                             \
  }
CT_GUEST_SAME_BITS(__float_as_int, int, float)
CT_GUEST_SAME_BITS(__float_as_uint, unsigned, float)
CT_GUEST_SAME_BITS(__int_as_float, float, int)
CT_GUEST_SAME_BITS(__uint_as_float, float, unsigned)
CT_GUEST_SAME_BITS(__double_as_longlong, long long, double)
CT_GUEST_SAME_BITS(__longlong_as_double, double, long long)
#undef CT_GUEST_SAME_BITS
CT_GUEST_VALUE int __double2hiint(double v) {
  return static_cast<int>(__double_as_longlong(v) >> 32);
}
CT_GUEST_VALUE int __double2loint(double v) {
  return static_cast<int>(__double_as_longlong(v));
}
CT_GUEST_VALUE double __hiloint2double(int high, int low) {
  return __longlong_as_double(
      static_cast<long long>(static_cast<unsigned long long>(static_cast<unsigned>(high)) << 32 |
                             static_cast<unsigned>(low)));
}

// Arithmetic in each rounding mode
// -----------------------------------------------------------------
#define CT_GUEST_MODES(NAME, TYPE, PARAMETERS, ARGUMENTS, EXPRESSION)              \
  CT_GUEST_VALUE TYPE NAME##_rn PARAMETERS {                                       \
    return EXPRESSION;                                                             \
  }                                                                                \
  CT_GUEST_MODE(NAME##_rz, FE_TOWARDZERO, TYPE, PARAMETERS, ARGUMENTS, EXPRESSION) \
  CT_GUEST_MODE(NAME##_ru, FE_UPWARD, TYPE, PARAMETERS, ARGUMENTS, EXPRESSION)     \
  CT_GUEST_MODE(NAME##_rd, FE_DOWNWARD, TYPE, PARAMETERS, ARGUMENTS, EXPRESSION)
#define CT_GUEST_MODE(NAME, MODE, TYPE, PARAMETERS, ARGUMENTS, EXPRESSION)                       \
  CT_GUEST_VALUE TYPE NAME PARAMETERS {                                                          \
    return ::cornerturn::guest::rounded<MODE, TYPE>(                                             \
        [] PARAMETERS CT_GUEST_PLAIN -> TYPE { return EXPRESSION; }, CT_GUEST_UNPACK ARGUMENTS); \
  }
#define CT_GUEST_UNPACK(...) __VA_ARGS__
#define CT_GUEST_ARITHMETIC(F, FMA, TYPE, SUFFIX)                             \
  CT_GUEST_MODES(__##F##add, TYPE, (TYPE a, TYPE b), (a, b), a + b)           \
  CT_GUEST_MODES(__##F##sub, TYPE, (TYPE a, TYPE b), (a, b), a - b)           \
  CT_GUEST_MODES(__##F##mul, TYPE, (TYPE a, TYPE b), (a, b), a* b)            \
  CT_GUEST_MODES(__##F##div, TYPE, (TYPE a, TYPE b), (a, b), a / b)           \
  CT_GUEST_MODES(__##F##rcp, TYPE, (TYPE a), (a), 1 / a)                      \
  CT_GUEST_MODES(__##F##sqrt, TYPE, (TYPE a), (a), __builtin_sqrt##SUFFIX(a)) \
  CT_GUEST_MODES(FMA, TYPE, (TYPE a, TYPE b, TYPE c), (a, b, c), __builtin_fma##SUFFIX(a, b, c))
CT_GUEST_ARITHMETIC(f, __fmaf, float, f)
CT_GUEST_ARITHMETIC(d, __fma, double, )
#undef CT_GUEST_ARITHMETIC

// Conversions
// --------------------------------------------------------------------------------------
#define CT_GUEST_TO_INTEGER(NAME, TO, FROM, SUFFIX)                         \
  CT_GUEST_VALUE TO NAME##_rn(FROM v) {                                     \
    return ::cornerturn::guest::to_integer<TO>(__builtin_rint##SUFFIX(v));  \
  }                                                                         \
  CT_GUEST_VALUE TO NAME##_rz(FROM v) {                                     \
    return ::cornerturn::guest::to_integer<TO>(__builtin_trunc##SUFFIX(v)); \
  }                                                                         \
  CT_GUEST_VALUE TO NAME##_ru(FROM v) {                                     \
    return ::cornerturn::guest::to_integer<TO>(__builtin_ceil##SUFFIX(v));  \
  }                                                                         \
  CT_GUEST_VALUE TO NAME##_rd(FROM v) {                                     \
    return ::cornerturn::guest::to_integer<TO>(__builtin_floor##SUFFIX(v)); \
  }
CT_GUEST_TO_INTEGER(__float2int, int, float, f)
CT_GUEST_TO_INTEGER(__float2uint, unsigned, float, f)
CT_GUEST_TO_INTEGER(__float2ll, long long, float, f)
CT_GUEST_TO_INTEGER(__float2ull, unsigned long long, float, f)
CT_GUEST_TO_INTEGER(__double2int, int, double, )
CT_GUEST_TO_INTEGER(__double2uint, unsigned, double, )
CT_GUEST_TO_INTEGER(__double2ll, long long, double, )
CT_GUEST_TO_INTEGER(__double2ull, unsigned long long, double, )
#undef CT_GUEST_TO_INTEGER
CT_GUEST_MODES(__int2float, float, (int v), (v), static_cast<float>(v))
CT_GUEST_MODES(__uint2float, float, (unsigned v), (v), static_cast<float>(v))
CT_GUEST_MODES(__ll2float, float, (long long v), (v), static_cast<float>(v))
CT_GUEST_MODES(__ull2float, float, (unsigned long long v), (v), static_cast<float>(v))
CT_GUEST_MODES(__ll2double, double, (long long v), (v), static_cast<double>(v))
CT_GUEST_MODES(__ull2double, double, (unsigned long long v), (v), static_cast<double>(v))
CT_GUEST_MODES(__double2float, float, (double v), (v), static_cast<float>(v))
#undef CT_GUEST_MODES
#undef CT_GUEST_MODE
#undef CT_GUEST_UNPACK
CT_GUEST_VALUE double __int2double_rn(int v) {
  return v;
}
CT_GUEST_VALUE double __uint2double_rn(unsigned v) {
  return v;
}

// Functions
// ----------------------------------------------------------------------------------------
#define CT_GUEST_FUNCTION(NAME, TYPE, PARAMETERS, EXPRESSION) \
  CT_GUEST_VALUE TYPE NAME PARAMETERS {                       \
    return EXPRESSION;                                        \
  }
#define CT_GUEST_FUNCTION_2(NAME, PARAMETERS_F, PARAMETERS_D, EXPRESSION)         \
  CT_GUEST_FUNCTION(NAME##f, float, PARAMETERS_F, static_cast<float>(EXPRESSION)) \
  CT_GUEST_FUNCTION(NAME, double, PARAMETERS_D, EXPRESSION)
CT_GUEST_FUNCTION_2(rsqrt, (float a), (double a), 1 / __builtin_sqrt(a))
CT_GUEST_FUNCTION_2(rcbrt, (float a), (double a), 1 / __builtin_cbrt(a))
CT_GUEST_FUNCTION_2(rhypot, (float a, float b), (double a, double b), 1 / __builtin_hypot(a, b))
CT_GUEST_FUNCTION_2(norm3d, (float a, float b, float c), (double a, double b, double c),
                    __builtin_hypot(__builtin_hypot(a, b), c))
CT_GUEST_FUNCTION_2(rnorm3d, (float a, float b, float c), (double a, double b, double c),
                    1 / __builtin_hypot(__builtin_hypot(a, b), c))
CT_GUEST_FUNCTION_2(norm4d, (float a, float b, float c, float d),
                    (double a, double b, double c, double d),
                    __builtin_hypot(__builtin_hypot(a, b), __builtin_hypot(c, d)))
CT_GUEST_FUNCTION_2(normcdf, (float a), (double a), __builtin_erfc(-a* M_SQRT1_2) / 2)
CT_GUEST_FUNCTION(fdividef, float, (float a, float b), a / b)
CT_GUEST_FUNCTION(fdivide, double, (double a, double b), a / b)
// The whole turns of sin(pi a) are taken off first, which is exact, so that integers give exact
// zeros.
CT_GUEST_FUNCTION(sinpi, double, (double a),
                  __builtin_fmod(a, 1) == 0 ? __builtin_copysign(0., a)
                                            : __builtin_sin(M_PI * __builtin_fmod(a, 2)))
CT_GUEST_FUNCTION(cospi, double, (double a),
                  __builtin_fmod(__builtin_fabs(a), 1) == 0.5
                      ? 0.
                      : __builtin_cos(M_PI * __builtin_fmod(a, 2)))
CT_GUEST_FUNCTION(sinpif, float, (float a), static_cast<float>(sinpi(a)))
CT_GUEST_FUNCTION(cospif, float, (float a), static_cast<float>(cospi(a)))
CT_GUEST_FUNCTION(__saturatef, float, (float a), a > 0 ? (a < 1 ? a : 1) : 0)
CT_GUEST_FUNCTION(__fdividef, float, (float a, float b), a / b)
CT_GUEST_FUNCTION(__frsqrt_rn, float, (float a),
                  static_cast<float>(1 / __builtin_sqrt(static_cast<double>(a))))
CT_GUEST_FUNCTION(__expf, float, (float a), __builtin_expf(a))
CT_GUEST_FUNCTION(__exp10f, float, (float a), static_cast<float>(__builtin_pow(10., a)))
CT_GUEST_FUNCTION(__logf, float, (float a), __builtin_logf(a))
CT_GUEST_FUNCTION(__log2f, float, (float a), __builtin_log2f(a))
CT_GUEST_FUNCTION(__log10f, float, (float a), __builtin_log10f(a))
CT_GUEST_FUNCTION(__powf, float, (float a, float b), __builtin_powf(a, b))
CT_GUEST_FUNCTION(__sinf, float, (float a), __builtin_sinf(a))
CT_GUEST_FUNCTION(__cosf, float, (float a), __builtin_cosf(a))
CT_GUEST_FUNCTION(__tanf, float, (float a), __builtin_tanf(a))
CT_GUEST_FUNCTION(__tanhf, float, (float a), __builtin_tanhf(a))
#undef CT_GUEST_FUNCTION
#undef CT_GUEST_FUNCTION_2

// The results of these go where the user says, so the stores are the user's.
CT_GUEST_INLINE void __sincosf(float a, float* sine, float* cosine) {
  *sine = __sinf(a);
  *cosine = __cosf(a);
}
CT_GUEST_INLINE void sincospif(float a, float* sine, float* cosine) {
  *sine = sinpif(a);
  *cosine = cospif(a);
}
CT_GUEST_INLINE void sincospi(double a, double* sine, double* cosine) {
  *sine = sinpi(a);
  *cosine = cospi(a);
}
