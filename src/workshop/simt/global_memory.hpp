// The buffers that a kernel may touch, and for the outputs who wrote and who read which byte.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace cornerturn::simt {

/// Who touched a cell of an output, and when. Nothing orders the blocks of a launch; threads of one
/// block are ordered by barriers, which the epochs count (shared_shadow.hpp).
struct Toucher {
  std::uint32_t block = 0;   ///< linear index + 1; 0: nobody
  std::uint16_t thread = 0;  ///< linear index in the block
  std::uint16_t site = 0;
  std::uint32_t block_epoch = 0;
  std::uint32_t warp_epoch = 0;

  bool same_thread(const Toucher& other) const {
    return block == other.block && thread == other.thread;
  }
  /// Both are somebody, and either may come first.
  bool unordered_with(const Toucher& other) const {
    if (block == 0 || other.block == 0 || same_thread(other)) return false;
    if (block != other.block) return true;
    return thread / 32 == other.thread / 32 ? warp_epoch == other.warp_epoch
                                            : block_epoch == other.block_epoch;
  }
};

/// What blocks have announced to others, and which of that the running block has waited for.
class BlockOrder {
 public:
  void begin_launch() { announced_.clear(); }
  void begin_block() { waited_.clear(); }

  void announce(const void* flag, const Toucher& who) { announced_[flag] = who; }
  /// False: nobody has announced it.
  bool wait(const void* flag, const Toucher& who) {
    const auto found = announced_.find(flag);
    if (found == announced_.end()) return false;
    waited_[found->second.block] = {found->second.block_epoch, who};
    return true;
  }
  /// Did `other`, of another block, touch it before that block's last barrier before it announced
  /// what the running thread, or one before its last barrier, has waited for?
  bool before(const Toucher& other, const Toucher& who) const {
    const auto found = waited_.find(other.block);
    if (found == waited_.end() || other.block_epoch >= found->second.epoch) return false;
    const Toucher& waiter = found->second.by;
    return who.same_thread(waiter) || who.block_epoch > waiter.block_epoch;
  }

 private:
  struct Waited {
    std::uint32_t epoch = 0;
    Toucher by;
  };
  std::map<const void*, Toucher> announced_;
  std::map<std::uint32_t, Waited> waited_;  // by block
};

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
