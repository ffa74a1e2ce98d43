// The host's side of a measurement: memory of one kind.
#pragma once

#include <cstddef>
#include <cstdint>

#include "harness/buffer.hpp"
#include "link/cases.hpp"

namespace cornerturn::bench::link {

/// Memory whose pages are all there. A mapped file has no name and lies in the folder of temporary
/// files, in the page cache.
class HostMemory {
 public:
  HostMemory(Memory memory, std::int64_t bytes);
  ~HostMemory();
  HostMemory(const HostMemory&) = delete;
  HostMemory& operator=(const HostMemory&) = delete;

  std::byte* data() const { return data_; }
  std::int64_t bytes() const { return bytes_; }

 private:
  void map_file();

  Memory memory_;
  std::int64_t bytes_;
  std::byte* data_ = nullptr;
  Buffer pageable_;
};

}  // namespace cornerturn::bench::link
