// ThreadSanitizer's hooks, which the compiler has put before each load and store of the program.
// They take the place of its library.
#include <cstring>

#include "workshop/cuda_source/run/running.hpp"

namespace cornerturn::cuda_source {

namespace {

using simt::How;
using simt::Op;

#define CT_HERE __builtin_extract_return_addr(__builtin_return_address(0))

// The cheapest questions come first: most accesses are to the thread's own stack.
inline void hook(const void* p, int width, bool store, How how, const void* code) {
  if (!running.in_kernel) {
    if (reserved_range.has(p)) {
      touch_on_host(p, static_cast<std::size_t>(width), store, code);
    }
    return;
  }
  if (reserved_range.has(p)) {
    touch_global(p, width, store ? Op::global_store : Op::global_load, how, code);
  } else if (running.locals.has(p)) {
    touch_shared(p, width, store ? Op::shared_store : Op::shared_load, how, code);
  } else if (!running.stacks.has(p) && !running.arguments.has(p)) {
    touch_other(p, width, store ? Op::global_store : Op::global_load, how, code);
  }
}

// A thread that only looks at one flag waits for what another one stores: that one must run.
void look(const void* p, const void* code) {
  if (p != running.last_flag) {
    running.last_flag = p;
    running.looks = 0;
  }
  if (++running.looks % 64 != 0) return;
  engine().pause(site_of(reinterpret_cast<std::uintptr_t>(code)));
  const int looks = running.looks;
  show_indices();
  running.looks = looks;
  running.last_flag = p;
}

void hook_volatile(const void* p, int width, bool store, const void* code) {
  hook(p, width, store, How::as_volatile, code);
  if (!running.in_kernel || running.stacks.has(p)) return;
  const simt::Site site = site_of(reinterpret_cast<std::uintptr_t>(code));
  if (store) {
    engine().write_flag(p, site);
  } else {
    look(p, code);
    engine().read_flag(p, site);
  }
}

// Bytes that are copied at once: as accesses of a width that divides their number and the address.
void hook_range(const void* p, std::size_t bytes, bool store, const void* code) {
  if (bytes == 0) return;
  if (!running.in_kernel) {
    if (reserved_range.has(p)) touch_on_host(p, bytes, store, code);
    return;
  }
  if (running.stacks.has(p) || running.arguments.has(p)) return;
  const std::uintptr_t all = bytes | reinterpret_cast<std::uintptr_t>(p) | 16;
  const auto width = static_cast<std::size_t>(all & (~all + 1));
  for (std::size_t at = 0; at < bytes; at += width) {
    hook(static_cast<const std::byte*>(p) + at, static_cast<int>(width), store, How::plain, code);
  }
}

}  // namespace

// Atomics
// ---------------------------------------------------------------------------------------------

/// An atomic access is about to happen: one of the library's functions or of the compiler's.
void touch_atomic(const void* p, int width, bool loads, bool stores, const void* code) {
  if (!running.in_kernel) {
    if (reserved_range.has(p)) touch_on_host(p, static_cast<std::size_t>(width), stores, code);
    return;
  }
  if (running.stacks.has(p) || running.arguments.has(p)) return;
  const bool shared = running.locals.has(p);
  const Op op = loads && stores ? (shared ? Op::shared_atomic : Op::global_atomic)
                : stores        ? (shared ? Op::shared_store : Op::global_store)
                                : (shared ? Op::shared_load : Op::global_load);
  if (shared) {
    touch_shared(p, width, op, How::atomic, code);
  } else if (reserved_range.has(p)) {
    touch_global(p, width, op, How::atomic, code);
  } else {
    touch_other(p, width, op, How::atomic, code);
  }
  const simt::Site site = site_of(reinterpret_cast<std::uintptr_t>(code));
  if (loads) {
    look(p, code);
    engine().read_flag(p, site);
  }
  if (stores) engine().write_flag(p, site);
}

extern "C" {

// NOLINTBEGIN(readability-identifier-naming, bugprone-reserved-identifier)
#define CT_HOOKS(N)                                  \
  void __tsan_read##N(void* p) {                     \
    hook(p, N, false, How::plain, CT_HERE);          \
  }                                                  \
  void __tsan_write##N(void* p) {                    \
    hook(p, N, true, How::plain, CT_HERE);           \
  }                                                  \
  void __tsan_read##N##_pc(void* p, void* pc) {      \
    hook(p, N, false, How::plain, pc);               \
  }                                                  \
  void __tsan_write##N##_pc(void* p, void* pc) {     \
    hook(p, N, true, How::plain, pc);                \
  }                                                  \
  void __tsan_unaligned_read##N(void* p) {           \
    hook(p, N, false, How::plain, CT_HERE);          \
  }                                                  \
  void __tsan_unaligned_write##N(void* p) {          \
    hook(p, N, true, How::plain, CT_HERE);           \
  }                                                  \
  void __tsan_volatile_read##N(void* p) {            \
    hook_volatile(p, N, false, CT_HERE);             \
  }                                                  \
  void __tsan_volatile_write##N(void* p) {           \
    hook_volatile(p, N, true, CT_HERE);              \
  }                                                  \
  void __tsan_unaligned_volatile_read##N(void* p) {  \
    hook_volatile(p, N, false, CT_HERE);             \
  }                                                  \
  void __tsan_unaligned_volatile_write##N(void* p) { \
    hook_volatile(p, N, true, CT_HERE);              \
  }                                                  \
  void __tsan_read_write##N(void* p) {               \
    hook(p, N, false, How::plain, CT_HERE);          \
    hook(p, N, true, How::plain, CT_HERE);           \
  }                                                  \
  void __tsan_unaligned_read_write##N(void* p) {     \
    hook(p, N, false, How::plain, CT_HERE);          \
    hook(p, N, true, How::plain, CT_HERE);           \
  }
CT_HOOKS(1)
CT_HOOKS(2)
CT_HOOKS(4)
CT_HOOKS(8)
CT_HOOKS(16)

void __tsan_read_range(void* p, std::size_t bytes) {
  hook_range(p, bytes, false, CT_HERE);
}
void __tsan_write_range(void* p, std::size_t bytes) {
  hook_range(p, bytes, true, CT_HERE);
}
void __tsan_read_range_pc(void* p, std::size_t bytes, void* pc) {
  hook_range(p, bytes, false, pc);
}
void __tsan_write_range_pc(void* p, std::size_t bytes, void* pc) {
  hook_range(p, bytes, true, pc);
}

void __tsan_init() {
  start_up();
}
void __tsan_func_entry(void*) {}
void __tsan_func_exit() {}
void __tsan_ignore_thread_begin() {}
void __tsan_ignore_thread_end() {}
void __tsan_vptr_read(void** p) {
  hook(p, 8, false, How::plain, CT_HERE);
}
void __tsan_vptr_update(void** p, void*) {
  hook(p, 8, true, How::plain, CT_HERE);
}

void* __tsan_memcpy(void* to, const void* from, std::size_t bytes) {
  hook_range(from, bytes, false, CT_HERE);
  hook_range(to, bytes, true, CT_HERE);
  return std::memcpy(to, from, bytes);
}
void* __tsan_memmove(void* to, const void* from, std::size_t bytes) {
  hook_range(from, bytes, false, CT_HERE);
  hook_range(to, bytes, true, CT_HERE);
  return std::memmove(to, from, bytes);
}
void* __tsan_memset(void* to, int value, std::size_t bytes) {
  hook_range(to, bytes, true, CT_HERE);
  return std::memset(to, value, bytes);
}
void* cornerturn_memcpy(void* to, const void* from, std::size_t bytes) {
  hook_range(from, bytes, false, CT_HERE);
  hook_range(to, bytes, true, CT_HERE);
  return std::memcpy(to, from, bytes);
}
void* cornerturn_memmove(void* to, const void* from, std::size_t bytes) {
  hook_range(from, bytes, false, CT_HERE);
  hook_range(to, bytes, true, CT_HERE);
  return std::memmove(to, from, bytes);
}
void* cornerturn_memset(void* to, int value, std::size_t bytes) {
  hook_range(to, bytes, true, CT_HERE);
  return std::memset(to, value, bytes);
}

#define CT_ATOMIC_UPDATE(BITS, NAME, DO)                                              \
  std::uint##BITS##_t __tsan_atomic##BITS##_##NAME(volatile std::uint##BITS##_t* p,   \
                                                   std::uint##BITS##_t v, int) {      \
    touch_atomic(const_cast<std::uint##BITS##_t*>(p), BITS / 8, true, true, CT_HERE); \
    return DO(p, v, __ATOMIC_SEQ_CST);                                                \
  }
#define CT_ATOMIC_COMPARE(BITS, NAME)                                                         \
  int __tsan_atomic##BITS##_##NAME(volatile std::uint##BITS##_t* p, std::uint##BITS##_t* was, \
                                   std::uint##BITS##_t v, int, int) {                         \
    touch_atomic(const_cast<std::uint##BITS##_t*>(p), BITS / 8, true, true, CT_HERE);         \
    return __atomic_compare_exchange_n(p, was, v, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST); \
  }
#define CT_ATOMICS(BITS)                                                                           \
  std::uint##BITS##_t __tsan_atomic##BITS##_load(const volatile std::uint##BITS##_t* p, int) {     \
    touch_atomic(const_cast<std::uint##BITS##_t*>(p), BITS / 8, true, false, CT_HERE);             \
    return __atomic_load_n(p, __ATOMIC_SEQ_CST);                                                   \
  }                                                                                                \
  void __tsan_atomic##BITS##_store(volatile std::uint##BITS##_t* p, std::uint##BITS##_t v, int) {  \
    touch_atomic(const_cast<std::uint##BITS##_t*>(p), BITS / 8, false, true, CT_HERE);             \
    __atomic_store_n(p, v, __ATOMIC_SEQ_CST);                                                      \
  }                                                                                                \
  CT_ATOMIC_UPDATE(BITS, exchange, __atomic_exchange_n)                                            \
  CT_ATOMIC_UPDATE(BITS, fetch_add, __atomic_fetch_add)                                            \
  CT_ATOMIC_UPDATE(BITS, fetch_sub, __atomic_fetch_sub)                                            \
  CT_ATOMIC_UPDATE(BITS, fetch_and, __atomic_fetch_and)                                            \
  CT_ATOMIC_UPDATE(BITS, fetch_or, __atomic_fetch_or)                                              \
  CT_ATOMIC_UPDATE(BITS, fetch_xor, __atomic_fetch_xor)                                            \
  CT_ATOMIC_UPDATE(BITS, fetch_nand, __atomic_fetch_nand)                                          \
  CT_ATOMIC_COMPARE(BITS, compare_exchange_strong)                                                 \
  CT_ATOMIC_COMPARE(BITS, compare_exchange_weak)                                                   \
  std::uint##BITS##_t __tsan_atomic##BITS##_compare_exchange_val(                                  \
      volatile std::uint##BITS##_t* p, std::uint##BITS##_t was, std::uint##BITS##_t v, int, int) { \
    touch_atomic(const_cast<std::uint##BITS##_t*>(p), BITS / 8, true, true, CT_HERE);              \
    __atomic_compare_exchange_n(p, &was, v, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);            \
    return was;                                                                                    \
  }
CT_ATOMICS(8)
CT_ATOMICS(16)
CT_ATOMICS(32)
CT_ATOMICS(64)

void __tsan_atomic_thread_fence(int) {
  if (running.in_kernel) engine().fence();
}
void __tsan_atomic_signal_fence(int) {}
// NOLINTEND(readability-identifier-naming, bugprone-reserved-identifier)

}  // extern "C"

}  // namespace cornerturn::cuda_source
