// Memory for the cases: page-aligned, on huge pages where the system gives them, touched.
#pragma once

#include <cstddef>
#include <cstdint>

namespace cornerturn::bench {

/// Anonymous memory that only grows. Starts on a multiple of 2 MiB; all pages are present.
class Buffer {
 public:
  Buffer() = default;
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  ~Buffer();

  /// Makes at least `bytes` bytes available; the contents are lost when it grows. Throws Error when
  /// the system refuses.
  void reserve(std::int64_t bytes);

  std::byte* data() const noexcept { return data_; }
  std::int64_t size() const noexcept { return size_; }

 private:
  void release() noexcept;

  void* mapping_ = nullptr;
  std::size_t mapped_ = 0;
  std::byte* data_ = nullptr;
  std::int64_t size_ = 0;
};

/// The next multiple of a page's 4096 bytes.
constexpr std::int64_t round_to_page(std::int64_t bytes) {
  return (bytes + 4095) / 4096 * 4096;
}

/// Bytes that could be allocated now without swapping: what the kernel calls available, or what the
/// control group leaves if that is less. INT64_MAX when it cannot be found out.
std::int64_t available_memory();

}  // namespace cornerturn::bench
