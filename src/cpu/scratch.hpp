// Memory that a thread works in, kept from call to call.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>

namespace cornerturn::cpu {

/// At least `bytes` bytes of this thread's own, aligned to a cache line, with any contents. One
/// kernel at a time uses it. Throws std::bad_alloc.
inline std::byte* thread_scratch(std::size_t bytes) {
  constexpr std::size_t line = 64;
  struct Free {
    void operator()(std::byte* memory) const { std::free(memory); }
  };
  static thread_local std::unique_ptr<std::byte, Free> memory;
  static thread_local std::size_t size = 0;
  if (bytes > size) {
    bytes = (bytes + line - 1) / line * line;
    memory.reset(static_cast<std::byte*>(std::aligned_alloc(line, bytes)));
    size = memory ? bytes : 0;
    if (!memory) throw std::bad_alloc();
  }
  return memory.get();
}

}  // namespace cornerturn::cpu
