// The buffers that a kernel may touch, and for the outputs who wrote and who read which byte.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "workshop/simt/block_order.hpp"

namespace cornerturn::simt {

/// What a launch may do with a buffer.
enum class Use {
  input,   ///< read it
  output,  ///< write every byte of it once
  update,  ///< read what it holds, and write every byte at most once
};

struct Buffer {
  std::string name;
  std::byte* base = nullptr;
  std::size_t bytes = 0;
  Use use = Use::input;
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

  /// What a store collides with: bytes that were written before, or that a thread has read which no
  /// barrier orders with this one.
  struct WriteConflict {
    Toucher other;
    bool reads = false;
    std::uint64_t offset = 0;  ///< the first such byte
  };
  /// Marks the bytes in [offset, offset + width) that nobody wrote before with `who`.
  std::optional<WriteConflict> write(std::uint64_t offset, std::uint64_t width, const Toucher& who,
                                     const BlockOrder& order);

  /// What a load collides with: bytes of an output that nobody wrote, or bytes that a thread wrote
  /// which no barrier orders with this one.
  struct ReadConflict {
    Toucher writer;  ///< nobody: the byte of an output is unwritten
    std::uint64_t offset = 0;
  };
  std::optional<ReadConflict> read(std::uint64_t offset, std::uint64_t width, const Toucher& who,
                                   const BlockOrder& order);

  struct Gap {
    std::uint64_t first = 0;  ///< the first byte that nobody wrote
    std::uint64_t bytes = 0;  ///< how many in all
  };
  Gap unwritten() const;

 private:
  friend class GlobalMemory;
  void refine_to(std::uint64_t offset, std::uint64_t width);

  // Two different threads are enough to find a reader that is not the writer.
  struct Readers {
    Toucher first;
    Toucher other;
  };

  std::vector<Toucher> cells_;    // one for each 1 << shift_ bytes, outputs only
  std::vector<Readers> readers_;  // the same; empty while nobody has read
  int shift_ = 4;
};

class GlobalMemory {
 public:
  void add(std::string name, const void* base, std::size_t bytes, Use use);
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
