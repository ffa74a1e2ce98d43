// The kernel form. A kernel is one function template over a context, written once:
//
//   template <class T, class Ctx>
//   CT_DEVICE void run(Ctx& ctx, const MatrixArgs<T>& a);
//
// The context is the GPU (gpu_context.cuh: bare instructions), or a thread of the emulator
// (workshop/simt/context.hpp), which checks every access and can record it. It offers
//
//   thread_id() block_id() block_dim() grid_dim()   Dim3
//   thread_index() lane() warp()                    x fastest, then y, then z
//   shared<T, count, id = 0>()                      static shared memory; another id, another array
//   dynamic_shared<T>()                             what the launch asked for
//   load(pointer) store(pointer, value)             1, 2, 4, 8 or 16 bytes in one access, aligned;
//                                                   `const V*` is global, SharedPointer<V> is
//                                                   shared
//   load_if(active, pointer) store_if(...)          with a predicate; V{} where it is false
//   barrier() warp_barrier()                        all threads of the block; of the warp
//   load_line_if(active, pointer)                   16 global bytes; the L2 fetches their line
//   prefetch(pointer)                               the L2 fetches the sector of a global address;
//                                                   nothing waits for it
//   shuffle(value, lane) shuffle_xor(value, mask)   4 or 8 bytes, all lanes of the warp
//   ballot(bool)                                    a bit of each lane of the warp
//   copy_async(to, from) copy_async_if(...)         global to shared, 4, 8 or 16 bytes
//   copy_line_async_if(active, through_l1, to, from)   16 bytes; the L2 fetches their line, and the
//                                                   L1 keeps what it gets if the copy goes through
//                                                   it, else the copy goes around it
//   commit_async() wait_async<pending>()            close a group; wait until so many are pending
//   take_ticket(counter)                            adds 1 to a global number, returns what it was
//   announce(flag) wait_for(flag)                   what the block did up to its last barrier comes
//                                                   before what another does after it has waited
//   load_matrices<count>(row) store_matrices(...)   ldmatrix and stmatrix of 8 x 8 x 2 bytes
//
// Use the predicated forms where neighbouring lanes disagree, not a branch around an access: then
// every lane meets the same accesses in the same order, and those are the warp's requests.
// A kernel has no destructors to run and throws nothing: a thread may be dropped where it waits.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "maps/host_device.hpp"

#if defined(__CUDACC__)
#define CT_DEVICE __device__ __forceinline__
#define CT_NO_INLINE inline __host__ __device__ __noinline__
#define CT_UNROLL _Pragma("unroll")
#define CT_NO_UNROLL _Pragma("unroll 1")
#define CT_PARTLY_UNROLL _Pragma("unroll 4")
#else
#define CT_DEVICE inline
#define CT_NO_INLINE inline
#define CT_UNROLL
#define CT_NO_UNROLL
#define CT_PARTLY_UNROLL
#endif

namespace cornerturn {

struct Dim3 {
  unsigned x = 1;
  unsigned y = 1;
  unsigned z = 1;

  constexpr std::uint64_t count() const { return std::uint64_t{x} * y * z; }
  friend constexpr bool operator==(const Dim3&, const Dim3&) = default;
};

/// What one launch needs beside the arguments.
struct Launch {
  Dim3 grid;
  Dim3 block;
  unsigned dynamic_shared = 0;  ///< bytes
};

/// N neighbouring elements, moved as one.
template <class T, int N>
struct alignas(sizeof(T) * N) Vec {
  T at[N];

  CT_HOST_DEVICE constexpr T& operator[](int i) { return at[i]; }
  CT_HOST_DEVICE constexpr const T& operator[](int i) const { return at[i]; }
};

/// Where a T lies in the block's shared memory: a byte address in the shared window, not a pointer.
template <class T>
struct SharedPointer {
  std::uint32_t address = 0;

  template <class Integer>
  CT_HOST_DEVICE friend constexpr SharedPointer operator+(SharedPointer p, Integer count) {
    return {p.address + static_cast<std::uint32_t>(count) * static_cast<std::uint32_t>(sizeof(T))};
  }
};

/// The same place, seen as a vector of N elements.
template <int N, class T>
CT_HOST_DEVICE const Vec<T, N>* as_vec(const T* p) {
  return reinterpret_cast<const Vec<T, N>*>(p);
}
template <int N, class T>
CT_HOST_DEVICE Vec<T, N>* as_vec(T* p) {
  return reinterpret_cast<Vec<T, N>*>(p);
}
template <int N, class T>
CT_HOST_DEVICE constexpr SharedPointer<Vec<T, N>> as_vec(SharedPointer<T> p) {
  return {p.address};
}

/// The same place, seen as another type.
template <class U, class T>
CT_HOST_DEVICE constexpr SharedPointer<U> cast(SharedPointer<T> p) {
  return {p.address};
}

/// Four bytes out of the eight of (high, low); each digit of the selector names one, lowest first.
CT_HOST_DEVICE inline std::uint32_t byte_permute(std::uint32_t low, std::uint32_t high,
                                                 std::uint32_t selector) {
#if defined(__CUDA_ARCH__)
  return __byte_perm(low, high, selector);
#else
  const std::uint64_t bytes = std::uint64_t{high} << 32 | low;
  std::uint32_t result = 0;
  for (unsigned i = 0; i < 4; ++i) {
    const unsigned digit = selector >> (4 * i) & 7U;
    result |= static_cast<std::uint32_t>(bytes >> (8 * digit) & 0xffU) << (8 * i);
  }
  return result;
#endif
}

/// The number of the lowest bit that is set; there is one.
CT_HOST_DEVICE inline int lowest_bit(std::uint32_t bits) {
#if defined(__CUDA_ARCH__)
  return __ffs(static_cast<int>(bits)) - 1;
#else
  return std::countr_zero(bits);
#endif
}

/// The larger of each of two halves of 16 bits.
CT_HOST_DEVICE inline std::uint32_t larger_halves(std::uint32_t a, std::uint32_t b) {
#if defined(__CUDA_ARCH__)
  return __vmaxu2(a, b);
#else
  const std::uint32_t low = (a & 0xffffU) > (b & 0xffffU) ? a & 0xffffU : b & 0xffffU;
  return low | (a >> 16 > b >> 16 ? a & 0xffff0000U : b & 0xffff0000U);
#endif
}

}  // namespace cornerturn
