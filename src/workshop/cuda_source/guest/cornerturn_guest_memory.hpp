// Fences, loads and stores with cache hints, asynchronous copies, and kinds of addresses.
#pragma once

#include "cornerturn_guest_atomics.hpp"

CT_GUEST_INLINE void __threadfence_block() {
  ::cornerturn::guest::fence(::cornerturn::guest::fence_block);
}
CT_GUEST_INLINE void __threadfence() {
  ::cornerturn::guest::fence(::cornerturn::guest::fence_device);
}
CT_GUEST_INLINE void __threadfence_system() {
  ::cornerturn::guest::fence(::cornerturn::guest::fence_system);
}

// A hint changes how long a line stays in a cache, never the value.
#define CT_GUEST_LOAD(NAME)             \
  template <class T>                    \
  CT_GUEST_INLINE T NAME(const T* at) { \
    return *at;                         \
  }
#define CT_GUEST_STORE(NAME)                                               \
  template <class T>                                                       \
  CT_GUEST_INLINE void NAME(T* at, ::cornerturn::guest::same_t<T> value) { \
    *at = value;                                                           \
  }
CT_GUEST_LOAD(__ldg)
CT_GUEST_LOAD(__ldca)
CT_GUEST_LOAD(__ldcg)
CT_GUEST_LOAD(__ldcs)
CT_GUEST_LOAD(__ldlu)
CT_GUEST_LOAD(__ldcv)
CT_GUEST_STORE(__stwb)
CT_GUEST_STORE(__stcg)
CT_GUEST_STORE(__stcs)
CT_GUEST_STORE(__stwt)
#undef CT_GUEST_LOAD
#undef CT_GUEST_STORE
CT_GUEST_INLINE void __prefetch_global_l1(const void*) {}
CT_GUEST_INLINE void __prefetch_global_l2(const void*) {}

CT_GUEST_INLINE std::size_t __cvta_generic_to_shared(const void* p) {
  return ::cornerturn::guest::shared_address(p);
}
CT_GUEST_INLINE void* __cvta_shared_to_generic(std::size_t address) {
  return ::cornerturn::guest::from_shared_address(address);
}
CT_GUEST_INLINE std::size_t __cvta_generic_to_global(const void* p) {
  return reinterpret_cast<std::size_t>(p);
}
CT_GUEST_INLINE void* __cvta_global_to_generic(std::size_t address) {
  return reinterpret_cast<void*>(address);
}
CT_GUEST_INLINE unsigned __isShared(const void* p) {
  return ::cornerturn::guest::is_shared(p) ? 1 : 0;
}
CT_GUEST_INLINE unsigned __isGlobal(const void* p) {
  return ::cornerturn::guest::is_global(p) ? 1 : 0;
}
CT_GUEST_INLINE unsigned __isLocal(const void* p) {
  return __isShared(p) == 0 && __isGlobal(p) == 0 ? 1 : 0;
}
CT_GUEST_INLINE unsigned __isConstant(const void*) {
  return 0;
}

// cuda_pipeline.h: 4, 8 or 16 bytes, of which the last `zfill` become zero.
CT_GUEST_INLINE void __pipeline_memcpy_async(void* shared, const void* global, std::size_t bytes,
                                             std::size_t zfill = 0) {
  ::cornerturn::guest::copy_async(shared, global, static_cast<int>(bytes),
                                  static_cast<int>(bytes - zfill), bytes < 16);
}
CT_GUEST_INLINE void __pipeline_commit() {
  ::cornerturn::guest::commit_async();
}
CT_GUEST_INLINE void __pipeline_wait_prior(unsigned pending) {
  ::cornerturn::guest::wait_async(static_cast<int>(pending));
}

CT_GUEST_INLINE void __trap() {
  ::cornerturn::guest::trap("__trap()");
}
CT_GUEST_INLINE void __brkpt() {}
CT_GUEST_INLINE void __nanosleep(unsigned) {}
CT_GUEST_PLAIN inline long long clock64() {
  return static_cast<long long>(__builtin_ia32_rdtsc());
}
