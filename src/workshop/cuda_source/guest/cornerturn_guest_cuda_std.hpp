// cuda::barrier, cuda::pipeline, cuda::memcpy_async and cuda::atomic of CUDA's C++ library.
#pragma once

#include <atomic>

#include "cooperative_groups.h"

namespace cuda {

namespace std = ::std;
namespace guest = ::cornerturn::guest;

enum thread_scope {
  thread_scope_system,
  thread_scope_device,
  thread_scope_block,
  thread_scope_thread
};
using ::std::memory_order;
using ::std::memory_order_acq_rel;
using ::std::memory_order_acquire;
using ::std::memory_order_consume;
using ::std::memory_order_relaxed;
using ::std::memory_order_release;
using ::std::memory_order_seq_cst;

CT_GUEST_INLINE void atomic_thread_fence(memory_order, thread_scope scope = thread_scope_system) {
  guest::fence(scope == thread_scope_block    ? guest::fence_block
               : scope == thread_scope_device ? guest::fence_device
                                              : guest::fence_system);
}

// A value that is only touched by atomic operations, here or where a reference says. An order that
// is not relaxed has the fence that makes it so.
template <class T>
struct atomic_operations {
  CT_GUEST_INLINE static void ordered(memory_order order) {
    if (order != memory_order_relaxed) {
      guest::fence(guest::fence_device);
    }
  }
  template <class Operation>
  CT_GUEST_INLINE static T update(T* at, T a, memory_order order, T b = T{}) {
    ordered(order);
    const T old = guest::atomic_update<Operation, T>(at, a, b);
    ordered(order);
    return old;
  }
  CT_GUEST_INLINE static T load(const T* at, memory_order order) {
    const T value = guest::from_bits<T>(guest::atomic_load(at, sizeof(T)));
    ordered(order);
    return value;
  }
  CT_GUEST_INLINE static void store(T* at, T value, memory_order order) {
    ordered(order);
    guest::atomic_store(at, sizeof(T), guest::to_bits(value));
  }
  CT_GUEST_INLINE static bool compare_exchange(T* at, T& expected, T value, memory_order order) {
    const T old = update<guest::CompareAndSwap>(at, expected, order, value);
    const bool same = guest::to_bits(old) == guest::to_bits(expected);
    expected = old;
    return same;
  }
};

#define CT_GUEST_ATOMIC_MEMBERS(AT)                                                              \
  CT_GUEST_INLINE T load(memory_order order = memory_order_seq_cst) const {                      \
    return atomic_operations<T>::load(AT, order);                                                \
  }                                                                                              \
  CT_GUEST_INLINE void store(T value, memory_order order = memory_order_seq_cst) {               \
    atomic_operations<T>::store(AT, value, order);                                               \
  }                                                                                              \
  CT_GUEST_INLINE T exchange(T value, memory_order order = memory_order_seq_cst) {               \
    return atomic_operations<T>::template update<guest::Exchange>(AT, value, order);             \
  }                                                                                              \
  CT_GUEST_INLINE T fetch_add(T value, memory_order order = memory_order_seq_cst) {              \
    return atomic_operations<T>::template update<guest::Add>(AT, value, order);                  \
  }                                                                                              \
  CT_GUEST_INLINE T fetch_sub(T value, memory_order order = memory_order_seq_cst) {              \
    return atomic_operations<T>::template update<guest::Add>(AT, static_cast<T>(-value), order); \
  }                                                                                              \
  CT_GUEST_INLINE T fetch_min(T value, memory_order order = memory_order_seq_cst) {              \
    return atomic_operations<T>::template update<guest::Min>(AT, value, order);                  \
  }                                                                                              \
  CT_GUEST_INLINE T fetch_max(T value, memory_order order = memory_order_seq_cst) {              \
    return atomic_operations<T>::template update<guest::Max>(AT, value, order);                  \
  }                                                                                              \
  CT_GUEST_INLINE T fetch_and(T value, memory_order order = memory_order_seq_cst) {              \
    return atomic_operations<T>::template update<guest::And>(AT, value, order);                  \
  }                                                                                              \
  CT_GUEST_INLINE T fetch_or(T value, memory_order order = memory_order_seq_cst) {               \
    return atomic_operations<T>::template update<guest::Or>(AT, value, order);                   \
  }                                                                                              \
  CT_GUEST_INLINE bool compare_exchange_strong(T& expected, T value,                             \
                                               memory_order order = memory_order_seq_cst) {      \
    return atomic_operations<T>::compare_exchange(AT, expected, value, order);                   \
  }                                                                                              \
  CT_GUEST_INLINE bool compare_exchange_weak(T& expected, T value,                               \
                                             memory_order order = memory_order_seq_cst) {        \
    return atomic_operations<T>::compare_exchange(AT, expected, value, order);                   \
  }                                                                                              \
  CT_GUEST_INLINE operator T() const {                                                           \
    return load();                                                                               \
  }                                                                                              \
  CT_GUEST_INLINE T operator=(T value) {                                                         \
    store(value);                                                                                \
    return value;                                                                                \
  }                                                                                              \
  CT_GUEST_INLINE T operator+=(T value) {                                                        \
    return fetch_add(value) + value;                                                             \
  }                                                                                              \
  CT_GUEST_INLINE T operator++(int) {                                                            \
    return fetch_add(T(1));                                                                      \
  }                                                                                              \
  CT_GUEST_INLINE T operator++() {                                                               \
    return fetch_add(T(1)) + T(1);                                                               \
  }

template <class T, thread_scope scope = thread_scope_system>
class atomic {
 public:
  atomic() = default;
  constexpr atomic(T value) : value_(value) {}
  CT_GUEST_ATOMIC_MEMBERS(&value_)

 private:
  T value_;
};
template <class T, thread_scope scope = thread_scope_system>
class atomic_ref {
 public:
  CT_GUEST_INLINE explicit atomic_ref(T& value) : at_(&value) {}
  CT_GUEST_ATOMIC_MEMBERS(at_)

 private:
  T* at_;
};
#undef CT_GUEST_ATOMIC_MEMBERS

// A barrier of all threads of the block. One of fewer threads is refused by name where it is made.
template <thread_scope scope>
class barrier {
 public:
  struct arrival_token {};

  constexpr barrier() = default;
  constexpr explicit barrier(int) {}
  CT_GUEST_INLINE void expect(int threads) {
    if (static_cast<unsigned>(threads) != cooperative_groups::thread_block::size()) {
      guest::refuse("cuda::barrier of another number of threads than the block has");
    }
  }
  CT_GUEST_INLINE arrival_token arrive(int = 1) { return {}; }
  CT_GUEST_INLINE void wait(arrival_token) {
    guest::wait_async(0);
    guest::block_barrier();
  }
  CT_GUEST_INLINE void arrive_and_wait() { wait(arrive()); }

 private:
  unsigned long long unused_ = 0;
};
template <thread_scope scope>
CT_GUEST_INLINE void init(barrier<scope>* made, int threads) {
  made->expect(threads);
}

template <::std::size_t alignment>
struct aligned_size_t {
  ::std::size_t value;
  constexpr explicit aligned_size_t(::std::size_t bytes) : value(bytes) {}
  constexpr operator ::std::size_t() const { return value; }
};

// Stages of asynchronous copies. One that is shared by a block has its barrier where a stage is
// waited for and where it is released.
template <thread_scope scope, unsigned stages>
struct pipeline_shared_state {};
template <thread_scope scope>
class pipeline {
 public:
  CT_GUEST_INLINE explicit pipeline(bool shared) : shared_(shared) {}
  CT_GUEST_INLINE void producer_acquire() {}
  CT_GUEST_INLINE void producer_commit() {
    guest::commit_async();
    ++committed_;
  }
  CT_GUEST_INLINE void consumer_wait() {
    ++waited_;
    wait_prior(committed_ - waited_);
  }
  CT_GUEST_INLINE void consumer_release() {
    if (shared_) {
      guest::block_barrier();
    }
  }
  CT_GUEST_INLINE void wait_prior(int pending) {
    guest::wait_async(pending);
    if (shared_) {
      guest::block_barrier();
    }
  }

 private:
  bool shared_;
  int committed_ = 0;
  int waited_ = 0;
};
CT_GUEST_INLINE pipeline<thread_scope_thread> make_pipeline() {
  return pipeline<thread_scope_thread>(false);
}
template <class Group, thread_scope scope, unsigned stages>
CT_GUEST_INLINE pipeline<scope> make_pipeline(const Group&, pipeline_shared_state<scope, stages>*) {
  return pipeline<scope>(true);
}
template <unsigned pending, thread_scope scope>
CT_GUEST_INLINE void pipeline_consumer_wait_prior(pipeline<scope>& stages) {
  stages.wait_prior(static_cast<int>(pending));
}

// One thread's copy, in the largest pieces that fit.
CT_GUEST_INLINE void copy_alone(void* shared, const void* global, ::std::size_t bytes) {
  const auto together = reinterpret_cast<::std::uintptr_t>(shared) |
                        reinterpret_cast<::std::uintptr_t>(global) | bytes;
  const ::std::size_t piece = together % 16 == 0 ? 16 : together % 8 == 0 ? 8 : 4;
  for (::std::size_t at = 0; at < bytes; at += piece) {
    guest::copy_async(static_cast<char*>(shared) + at, static_cast<const char*>(global) + at,
                      static_cast<int>(piece), static_cast<int>(piece), piece < 16);
  }
}
template <class To, class From, thread_scope scope>
CT_GUEST_INLINE void memcpy_async(To* shared, const From* global, ::std::size_t bytes,
                                  pipeline<scope>&) {
  copy_alone(shared, global, bytes);
}
template <class To, class From, thread_scope scope>
CT_GUEST_INLINE void memcpy_async(To* shared, const From* global, ::std::size_t bytes,
                                  barrier<scope>&) {
  copy_alone(shared, global, bytes);
  guest::commit_async();
}
template <class Group, class To, class From, class Waiter>
CT_GUEST_INLINE void memcpy_async(const Group& group, To* shared, const From* global,
                                  ::std::size_t bytes, Waiter&) {
  cooperative_groups::share_copy(group, shared, global, bytes);
  if constexpr (!::std::is_same_v<Waiter, pipeline<thread_scope_thread>> &&
                !::std::is_same_v<Waiter, pipeline<thread_scope_block>>) {
    guest::commit_async();
  }
}

}  // namespace cuda
