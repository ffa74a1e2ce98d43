// Memory between two guard pages: one byte too far faults.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>

namespace cornerturn::test {

class GuardedBuffer {
 public:
  enum class Touching { front, back };  // which guard page the bytes lie against

  explicit GuardedBuffer(std::size_t capacity)
      : page_(static_cast<std::size_t>(sysconf(_SC_PAGESIZE))),
        capacity_((capacity + page_ - 1) / page_ * page_) {
    void* start =
        mmap(nullptr, capacity_ + 2 * page_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (start == MAP_FAILED) throw std::bad_alloc();
    base_ = static_cast<std::byte*>(start);
    if (mprotect(base_ + page_, capacity_, PROT_READ | PROT_WRITE) != 0) throw std::bad_alloc();
  }
  GuardedBuffer(const GuardedBuffer&) = delete;
  GuardedBuffer& operator=(const GuardedBuffer&) = delete;
  ~GuardedBuffer() { munmap(base_, capacity_ + 2 * page_); }

  std::size_t capacity() const { return capacity_; }

  /// `size` bytes that start right after the first guard page or end right before the last one.
  /// The other guard page is a page or more away, so both placements are worth testing.
  std::byte* place(std::size_t size, Touching touching) {
    return base_ + page_ + (touching == Touching::front ? 0 : capacity_ - size);
  }

 private:
  std::size_t page_;
  std::size_t capacity_;
  std::byte* base_;
};

}  // namespace cornerturn::test
