// What the emulator remembers of memory that kernels may read and write as often as they like: who
// wrote each byte last and who has read it since. Two accesses that nothing orders are seen
// whatever order they ran in.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "workshop/simt/block_order.hpp"

namespace cornerturn::simt {

/// A bit for each byte: has anyone written it?
class WrittenBytes {
 public:
  explicit WrittenBytes(std::size_t bytes);

  void mark(std::uint64_t offset, std::uint64_t count);
  /// The first byte of [offset, offset + count) that nobody has written; its end if there is none.
  std::uint64_t first_unwritten(std::uint64_t offset, std::uint64_t count) const;
  bool all(std::uint64_t offset, std::uint64_t count) const {
    // One access lies in one word of the map.
    if (offset / 64 == (offset + count - 1) / 64) {
      return (~words_[offset / 64] & bits(offset % 64, count)) == 0;
    }
    return first_unwritten(offset, count) == offset + count;
  }
  void mark_access(std::uint64_t offset, std::uint64_t count) {
    if (offset / 64 == (offset + count - 1) / 64) {
      words_[offset / 64] |= bits(offset % 64, count);
    } else {
      mark(offset, count);
    }
  }

 private:
  struct Free {
    void operator()(std::uint64_t* p) const;
  };
  static std::uint64_t bits(std::uint64_t first, std::uint64_t count) {
    return (count >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << count) - 1) << first;
  }

  std::unique_ptr<std::uint64_t[], Free> words_;  // zero pages until they are used
};

class AccessHistory {
 public:
  explicit AccessHistory(std::size_t bytes) : pages_((bytes + page_bytes - 1) / page_bytes) {}

  struct Conflict {
    Toucher other;
    bool reads = false;        ///< the other has read
    std::uint64_t offset = 0;  ///< the first byte that both have touched
  };
  /// Enters an access by `who` to [offset, offset + width). Whoever touched it in a block up to
  /// `before` did so in an earlier launch. A conflict is told once an access.
  std::optional<Conflict> read(std::uint64_t offset, std::uint64_t width, const Toucher& who,
                               std::uint32_t before, const BlockOrder& order);
  std::optional<Conflict> write(std::uint64_t offset, std::uint64_t width, const Toucher& who,
                                std::uint32_t before, const BlockOrder& order);
  void forget();

 private:
  static constexpr std::uint64_t page_bytes = 4096;
  static constexpr int widest = 4;

  // Of the readers two different threads are enough to find one that is not the writer. When they
  // are of different blocks of the launch, no third one adds anything.
  struct Readers {
    Toucher first;
    Toucher other;

    bool enough(std::uint32_t before) const {
      return first.block > before && other.block > before && first.block != other.block;
    }
  };
  // A cell has as many bytes as the narrowest access to its page so far.
  struct Page {
    std::vector<Toucher> writers;
    std::vector<Readers> readers;
    std::uint32_t last_writer = 0;  // the largest block number among the writers
    int shift = -1;                 // nobody has touched it
  };

  // Of a page: from `first` up to `end`.
  struct Cells {
    std::uint64_t first;
    std::uint64_t end;
  };

  static bool collide(const Toucher& other, const Toucher& who, std::uint32_t before,
                      const BlockOrder& order);
  static void refine(Page& page, std::uint64_t at);
  /// Calls visit(page, offset of the page, cells) for the cells of [offset, offset + width).
  template <class Visit>
  void for_each_page(std::uint64_t offset, std::uint64_t width, const Visit& visit);

  std::vector<Page> pages_;
};

/// Memory of a program that was not written for the emulator.
struct Watched {
  Watched(std::string its_name, std::uint64_t address, std::size_t its_bytes)
      : name(std::move(its_name)),
        device_address(address),
        bytes(its_bytes),
        written(its_bytes),
        history(its_bytes) {}

  std::string name;
  std::uint64_t device_address;
  std::size_t bytes;
  WrittenBytes written;
  AccessHistory history;
};

}  // namespace cornerturn::simt
