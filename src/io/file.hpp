// Memory mappings and buffers that close themselves.
#pragma once

#include <cstddef>
#include <cstdint>

#include "files/file.hpp"

namespace cornerturn::io {

using files::File;
using files::label_of;
using files::open_input;

/// Anonymous memory that starts at a page and asks for huge pages.
class Buffer {
 public:
  Buffer() = default;
  explicit Buffer(std::int64_t bytes);
  Buffer(Buffer&& other) noexcept { *this = std::move(other); }
  Buffer& operator=(Buffer&& other) noexcept;
  ~Buffer();

  std::byte* data() const noexcept { return data_; }
  std::int64_t size() const noexcept { return size_; }

 private:
  std::byte* data_ = nullptr;
  std::int64_t size_ = 0;
};

/// A whole file, read-only. Its pages are entered into the page tables, and taken out, by `threads`
/// threads: for a file in memory either takes a tenth of the time of copying it. If the file
/// shrinks, touching what was lost raises SIGBUS.
class Mapping {
 public:
  Mapping() = default;
  Mapping(const File& file, int threads);
  Mapping(Mapping&& other) noexcept { *this = std::move(other); }
  Mapping& operator=(Mapping&& other) noexcept;
  ~Mapping();

  const std::byte* data() const noexcept { return data_; }
  std::int64_t size() const noexcept { return size_; }

 private:
  void advise(int advice) const noexcept;

  std::byte* data_ = nullptr;
  std::int64_t size_ = 0;
  int threads_ = 1;
};

}  // namespace cornerturn::io
