// Random numbers in kernels, by cuRAND's names. The sequences are not cuRAND's own.
#pragma once

#include "curand.h"

struct curandStateXORWOW {
  unsigned long long state, spare[5];
};
typedef curandStateXORWOW curandState;
typedef curandStateXORWOW curandState_t;
typedef curandStateXORWOW curandStateXORWOW_t;
typedef curandStateXORWOW curandStatePhilox4_32_10;
typedef curandStateXORWOW curandStatePhilox4_32_10_t;
typedef curandStateXORWOW curandStateMRG32k3a_t;
struct curandStateSobol32 : curandStateXORWOW {};
struct curandStateSobol64 : curandStateXORWOW {};
typedef curandStateSobol32 curandStateSobol32_t;
typedef curandStateSobol64 curandStateSobol64_t;
typedef curandStateSobol32 curandStateScrambledSobol32_t;
typedef curandStateSobol64 curandStateScrambledSobol64_t;

namespace cornerturn::guest {

// SplitMix64's step: a state that is counted up, and its bits mixed.
CT_GUEST_PLAIN inline unsigned long long mixed(unsigned long long v) {
  v = (v ^ v >> 30) * 0xbf58476d1ce4e5b9ull;
  v = (v ^ v >> 27) * 0x94d049bb133111ebull;
  return v ^ v >> 31;
}
CT_GUEST_PLAIN inline float open_unit(unsigned bits) {
  return (static_cast<float>(bits >> 8) + 1) * 0x1p-24f;
}
CT_GUEST_PLAIN inline float bell(unsigned a, unsigned b) {
  return __builtin_sqrtf(-2 * __builtin_logf(open_unit(a))) * cospif(2 * open_unit(b));
}

}  // namespace cornerturn::guest

CT_GUEST_INLINE void curand_init(unsigned long long seed, unsigned long long sequence,
                                 unsigned long long offset, curandStateXORWOW* state) {
  namespace g = ::cornerturn::guest;
  const curandStateXORWOW made = {g::mixed(seed + g::mixed(sequence)) + offset, {}};
  *state = made;
}
CT_GUEST_INLINE void curand_init(const unsigned* directions, unsigned offset,
                                 curandStateSobol32* state) {
  curand_init(directions[0], 0, offset, state);
}
CT_GUEST_INLINE void curand_init(const unsigned long long* directions, unsigned long long offset,
                                 curandStateSobol64* state) {
  curand_init(directions[0], 0, offset, state);
}
CT_GUEST_INLINE unsigned curand(curandStateXORWOW* state) {
  state->state += 0x9e3779b97f4a7c15ull;
  return static_cast<unsigned>(::cornerturn::guest::mixed(state->state) >> 32);
}
CT_GUEST_INLINE float curand_uniform(curandStateXORWOW* state) {
  return ::cornerturn::guest::open_unit(curand(state));
}
CT_GUEST_INLINE double curand_uniform_double(curandStateXORWOW* state) {
  const double high = curand(state);
  return (high * 0x1p32 + curand(state) + 1) * 0x1p-64;
}
CT_GUEST_INLINE float curand_normal(curandStateXORWOW* state) {
  const unsigned first = curand(state);
  return ::cornerturn::guest::bell(first, curand(state));
}
CT_GUEST_INLINE double curand_normal_double(curandStateXORWOW* state) {
  return curand_normal(state);
}
CT_GUEST_INLINE float2 curand_normal2(curandStateXORWOW* state) {
  const float first = curand_normal(state);
  return make_float2(first, curand_normal(state));
}
CT_GUEST_INLINE float4 curand_uniform4(curandStateXORWOW* state) {
  const float x = curand_uniform(state);
  const float y = curand_uniform(state);
  const float z = curand_uniform(state);
  return make_float4(x, y, z, curand_uniform(state));
}
