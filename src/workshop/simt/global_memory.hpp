// The buffers that a kernel may touch, and for the outputs who wrote which byte.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace cornerturn::simt {

/// Who wrote a cell of an output first.
struct Writer {
  std::uint32_t block = 0;   ///< linear index + 1; 0: nobody
  std::uint16_t thread = 0;  ///< linear index in the block
  std::uint16_t site = 0;
};

struct Buffer {
  std::string name;
  std::byte* base = nullptr;
  std::size_t bytes = 0;
  bool output = false;
  // Where the buffer lies for the recorder: as on a device, whose allocations start at a multiple
  // of 256 bytes, plus what the host's pointer has beyond a multiple of 16.
  std::uint64_t device_address = 0;

  /// Offset of the access, if it lies inside.
  std::optional<std::uint64_t> offset_of(const void* p, std::size_t width) const {
    const std::uint64_t offset =
        reinterpret_cast<std::uintptr_t>(p) - reinterpret_cast<std::uintptr_t>(base);
    if (offset >= bytes || bytes - offset < width) return std::nullopt;
    return offset;
  }

  /// The first writer of a byte in [offset, offset + width) that has one; else marks them with
  /// `who`.
  std::optional<Writer> write(std::uint64_t offset, std::uint64_t width, Writer who);
  bool written(std::uint64_t offset, std::uint64_t width);

  struct Gap {
    std::uint64_t first = 0;  ///< the first byte that nobody wrote
    std::uint64_t bytes = 0;  ///< how many in all
  };
  Gap unwritten() const;

 private:
  friend class GlobalMemory;
  void refine_to(std::uint64_t offset, std::uint64_t width);

  std::vector<Writer> cells_;  // one for each 1 << shift_ bytes, outputs only
  int shift_ = 4;
};

class GlobalMemory {
 public:
  void add(std::string name, const void* base, std::size_t bytes, bool output);
  void clear() { buffers_.clear(); }
  /// A new launch: nobody has written the outputs.
  void begin_launch();

  Buffer* find(const void* p, std::size_t width) {
    for (Buffer& buffer : buffers_) {
      if (buffer.offset_of(p, width)) return &buffer;
    }
    return nullptr;
  }
  /// The buffer that ends or begins nearest to `p`, for messages.
  const Buffer* nearest(const void* p) const;
  const std::vector<Buffer>& buffers() const { return buffers_; }

 private:
  std::vector<Buffer> buffers_;
};

}  // namespace cornerturn::simt
