// CUDA's atomic functions. The scope (_block, _system) makes no difference to the value.
#pragma once

#include "cornerturn_guest_warps.hpp"

namespace cornerturn::guest {

// What an atomic operation makes of the old value `v` and its operands `a` and `b`.
struct Add {
  template <class T>
  CT_GUEST_PLAIN static T of(T v, T a, T) {
    if constexpr (std::is_integral_v<T> && sizeof(T) >= 4) {
      using U = std::make_unsigned_t<T>;
      return static_cast<T>(static_cast<U>(v) + static_cast<U>(a));
    } else {
      return static_cast<T>(v + a);
    }
  }
};
struct Sub {
  template <class T>
  CT_GUEST_PLAIN static T of(T v, T a, T) {
    using U = std::make_unsigned_t<T>;
    return static_cast<T>(static_cast<U>(v) - static_cast<U>(a));
  }
};
struct Exchange {
  template <class T>
  CT_GUEST_PLAIN static T of(T, T a, T) {
    return a;
  }
};
struct Min {
  template <class T>
  CT_GUEST_PLAIN static T of(T v, T a, T) {
    return a < v ? a : v;
  }
};
struct Max {
  template <class T>
  CT_GUEST_PLAIN static T of(T v, T a, T) {
    return v < a ? a : v;
  }
};
struct Inc {
  CT_GUEST_PLAIN static unsigned of(unsigned v, unsigned a, unsigned) { return v >= a ? 0 : v + 1; }
};
struct Dec {
  CT_GUEST_PLAIN static unsigned of(unsigned v, unsigned a, unsigned) {
    return v == 0 || v > a ? a : v - 1;
  }
};
struct And {
  template <class T>
  CT_GUEST_PLAIN static T of(T v, T a, T) {
    return v & a;
  }
};
struct Or {
  template <class T>
  CT_GUEST_PLAIN static T of(T v, T a, T) {
    return v | a;
  }
};
struct Xor {
  template <class T>
  CT_GUEST_PLAIN static T of(T v, T a, T) {
    return v ^ a;
  }
};
// It compares bits, so that it serves every type.
struct CompareAndSwap {};

template <class Operation, class T>
CT_GUEST_PLAIN std::uint64_t updated(std::uint64_t old, std::uint64_t a, std::uint64_t b) {
  if constexpr (std::is_same_v<Operation, CompareAndSwap>) {
    return old == a ? b : old;
  } else {
    return to_bits<T>(Operation::of(from_bits<T>(old), from_bits<T>(a), from_bits<T>(b)));
  }
}

template <class Operation, class T>
CT_GUEST_INLINE T atomic_update(T* at, T a, T b = T{}) {
  return from_bits<T>(atomic(const_cast<std::remove_cv_t<T>*>(at), sizeof(T),
                             &updated<Operation, T>, to_bits(a), to_bits(b)));
}

// The type of the first parameter alone decides, as in CUDA's overloads.
template <class T>
struct Same {
  using type = T;
};
template <class T>
using same_t = typename Same<T>::type;

}  // namespace cornerturn::guest

#define CT_GUEST_ATOMIC(NAME, OPERATION, TYPE)                                                  \
  CT_GUEST_INLINE TYPE NAME(TYPE* at, TYPE value) {                                             \
    return ::cornerturn::guest::atomic_update<::cornerturn::guest::OPERATION, TYPE>(at, value); \
  }                                                                                             \
  CT_GUEST_INLINE TYPE NAME##_block(TYPE* at, TYPE value) {                                     \
    return ::cornerturn::guest::atomic_update<::cornerturn::guest::OPERATION, TYPE>(at, value); \
  }                                                                                             \
  CT_GUEST_INLINE TYPE NAME##_system(TYPE* at, TYPE value) {                                    \
    return ::cornerturn::guest::atomic_update<::cornerturn::guest::OPERATION, TYPE>(at, value); \
  }
#define CT_GUEST_ATOMIC_SWAP(NAME, TYPE)                                                  \
  CT_GUEST_INLINE TYPE NAME(TYPE* at, TYPE expected, TYPE value) {                        \
    return ::cornerturn::guest::atomic_update<::cornerturn::guest::CompareAndSwap, TYPE>( \
        at, expected, value);                                                             \
  }
// CUDA's 64-bit atomics take unsigned long long. A pointer to unsigned long, which is another type
// of as many bits, is no match there either.
#define CT_GUEST_ATOMIC_32(NAME, OPERATION) \
  CT_GUEST_ATOMIC(NAME, OPERATION, int)     \
  CT_GUEST_ATOMIC(NAME, OPERATION, unsigned)
#define CT_GUEST_ATOMIC_BITS(NAME, OPERATION) \
  CT_GUEST_ATOMIC_32(NAME, OPERATION)         \
  CT_GUEST_ATOMIC(NAME, OPERATION, unsigned long long)
#define CT_GUEST_ATOMIC_ORDER(NAME, OPERATION) \
  CT_GUEST_ATOMIC_BITS(NAME, OPERATION)        \
  CT_GUEST_ATOMIC(NAME, OPERATION, long long)

CT_GUEST_ATOMIC_BITS(atomicAdd, Add)
CT_GUEST_ATOMIC(atomicAdd, Add, float)
CT_GUEST_ATOMIC(atomicAdd, Add, double)
CT_GUEST_ATOMIC_32(atomicSub, Sub)
CT_GUEST_ATOMIC_BITS(atomicExch, Exchange)
CT_GUEST_ATOMIC(atomicExch, Exchange, float)
CT_GUEST_ATOMIC_ORDER(atomicMin, Min)
CT_GUEST_ATOMIC_ORDER(atomicMax, Max)
CT_GUEST_ATOMIC(atomicInc, Inc, unsigned)
CT_GUEST_ATOMIC(atomicDec, Dec, unsigned)
CT_GUEST_ATOMIC_BITS(atomicAnd, And)
CT_GUEST_ATOMIC_BITS(atomicOr, Or)
CT_GUEST_ATOMIC_BITS(atomicXor, Xor)
CT_GUEST_ATOMIC_SWAP(atomicCAS, int)
CT_GUEST_ATOMIC_SWAP(atomicCAS, unsigned)
CT_GUEST_ATOMIC_SWAP(atomicCAS, unsigned long long)
CT_GUEST_ATOMIC_SWAP(atomicCAS, unsigned short)
CT_GUEST_ATOMIC_SWAP(atomicCAS_block, int)
CT_GUEST_ATOMIC_SWAP(atomicCAS_block, unsigned)
CT_GUEST_ATOMIC_SWAP(atomicCAS_block, unsigned long long)
CT_GUEST_ATOMIC_SWAP(atomicCAS_block, unsigned short)
CT_GUEST_ATOMIC_SWAP(atomicCAS_system, int)
CT_GUEST_ATOMIC_SWAP(atomicCAS_system, unsigned)
CT_GUEST_ATOMIC_SWAP(atomicCAS_system, unsigned long long)
CT_GUEST_ATOMIC_SWAP(atomicCAS_system, unsigned short)
#undef CT_GUEST_ATOMIC_BITS
#undef CT_GUEST_ATOMIC_32
#undef CT_GUEST_ATOMIC_ORDER
#undef CT_GUEST_ATOMIC_SWAP

// Vectors of floats are added element by element: the whole is not atomic in CUDA either.
CT_GUEST_INLINE float2 atomicAdd(float2* at, float2 value) {
  const float x = atomicAdd(&at->x, value.x);
  return {x, atomicAdd(&at->y, value.y)};
}
CT_GUEST_INLINE float4 atomicAdd(float4* at, float4 value) {
  const float x = atomicAdd(&at->x, value.x);
  const float y = atomicAdd(&at->y, value.y);
  const float z = atomicAdd(&at->z, value.z);
  return {x, y, z, atomicAdd(&at->w, value.w)};
}
