// What the emulator remembers of each byte of shared memory: who wrote it last and who has read it
// since, so that two accesses with no barrier between them are seen whatever order they ran in.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "workshop/simt/block_order.hpp"

namespace cornerturn::simt {

/// Time as one thread sees it. Two accesses by threads of one warp are unordered when their
/// warp_epoch is the same, by threads of different warps when their block_epoch is.
struct Moment {
  std::uint16_t thread = 0;
  std::uint16_t site = 0;
  std::uint32_t block_epoch = 0;
  std::uint32_t warp_epoch = 0;
  How how = How::plain;
};

/// Another thread's access that this one collides with.
struct SharedConflict {
  enum class Kind { unwritten, wrote, read, in_flight } kind = Kind::unwritten;
  std::uint32_t address = 0;
  std::uint16_t thread = 0;
  std::uint16_t site = 0;
  How how = How::plain;
  std::uint32_t block_epoch = 0;  ///< when the other was there
  std::uint32_t warp_epoch = 0;
};

class SharedShadow {
 public:
  /// Shared memory of a new block: nothing is written. Epochs grow from block to block.
  void begin_block(std::size_t bytes, std::uint32_t first_epoch) {
    first_epoch_ = first_epoch;
    const std::size_t cells = (bytes + (std::size_t{1} << shift_) - 1) >> shift_;
    if (cells_.size() < cells) cells_.resize(cells);
  }

  std::uint32_t first_epoch() const { return first_epoch_; }

  std::optional<SharedConflict> read(std::uint32_t address, std::uint32_t width,
                                     const Moment& now) {
    refine_to(address, width);
    std::optional<SharedConflict> conflict;
    const std::uint32_t end = (address + width) >> shift_;
    for (std::uint32_t i = address >> shift_; i < end; ++i) {
      Cell& cell = cells_[i];
      if (cell.write_block_epoch < first_epoch_) {
        if (!conflict) conflict = {SharedConflict::Kind::unwritten, i << shift_};
      } else if (!conflict) {
        conflict = with_writer(cell, i, now);
      }
      add_reader(cell, now);
    }
    return conflict;
  }

  /// The first byte of these that nobody has written.
  std::optional<SharedConflict> unwritten(std::uint32_t address, std::uint32_t width) const {
    const std::uint32_t end = (address + width + (1U << shift_) - 1) >> shift_;
    for (std::uint32_t i = address >> shift_; i < end; ++i) {
      if (cells_[i].write_block_epoch < first_epoch_) {
        return SharedConflict{SharedConflict::Kind::unwritten, i << shift_};
      }
    }
    return std::nullopt;
  }

  std::optional<SharedConflict> write(std::uint32_t address, std::uint32_t width, const Moment& now,
                                      bool in_flight) {
    refine_to(address, width);
    std::optional<SharedConflict> conflict;
    const std::uint32_t end = (address + width) >> shift_;
    for (std::uint32_t i = address >> shift_; i < end; ++i) {
      Cell& cell = cells_[i];
      if (!conflict && cell.write_block_epoch >= first_epoch_) conflict = with_writer(cell, i, now);
      if (!conflict) conflict = with_readers(cell, i, now);
      cell.write_block_epoch = now.block_epoch;
      cell.write_warp_epoch = now.warp_epoch;
      cell.writer = access(now);
      cell.in_flight = in_flight;
    }
    return conflict;
  }

  /// The thread that issued an async copy has waited for it: now the bytes are there.
  void land(std::uint32_t address, std::uint32_t width, const Moment& now) {
    refine_to(address, width);
    const std::uint32_t end = (address + width) >> shift_;
    for (std::uint32_t i = address >> shift_; i < end; ++i) {
      Cell& cell = cells_[i];
      cell.in_flight = false;
      cell.write_block_epoch = now.block_epoch;
      cell.write_warp_epoch = now.warp_epoch;
      cell.writer = access(now);
    }
  }

 private:
  static constexpr std::uint16_t nobody = 0xfff;

  struct Access {
    std::uint16_t thread : 12 = nobody;
    std::uint16_t how : 4 = 0;
    std::uint16_t site = 0;
  };

  static Access access(const Moment& now) {
    Access me;
    me.thread = now.thread & nobody;
    me.how = static_cast<std::uint16_t>(now.how) & 0xf;
    me.site = now.site;
    return me;
  }

  // Of the readers in the current block epoch three are enough to answer "has anyone but me read
  // this, unordered with me": the last; another of its warp and warp epoch; one of another warp.
  struct Cell {
    std::uint32_t write_block_epoch = 0;
    std::uint32_t write_warp_epoch = 0;
    std::uint32_t read_block_epoch = 0;
    std::uint32_t read_warp_epoch = 0;
    Access writer;
    Access last;
    Access neighbour;
    Access stranger;
    bool in_flight = false;
  };

  static bool both_atomic(const Access& other, const Moment& now) {
    return other.how == static_cast<std::uint16_t>(How::atomic) && now.how == How::atomic;
  }
  static bool same_warp(std::uint16_t a, std::uint16_t b) { return a / 32 == b / 32; }

  SharedConflict conflict(SharedConflict::Kind kind, std::uint32_t i, const Cell& cell,
                          Access other) const {
    const bool read = kind == SharedConflict::Kind::read;
    return {kind,
            i << shift_,
            other.thread,
            other.site,
            static_cast<How>(other.how),
            read ? cell.read_block_epoch : cell.write_block_epoch,
            read ? cell.read_warp_epoch : cell.write_warp_epoch};
  }

  std::optional<SharedConflict> with_writer(const Cell& cell, std::uint32_t i,
                                            const Moment& now) const {
    if (cell.in_flight) return conflict(SharedConflict::Kind::in_flight, i, cell, cell.writer);
    if (cell.writer.thread == now.thread || both_atomic(cell.writer, now)) return std::nullopt;
    const bool unordered = same_warp(cell.writer.thread, now.thread)
                               ? cell.write_warp_epoch == now.warp_epoch
                               : cell.write_block_epoch == now.block_epoch;
    if (!unordered) return std::nullopt;
    return conflict(SharedConflict::Kind::wrote, i, cell, cell.writer);
  }

  std::optional<SharedConflict> with_readers(const Cell& cell, std::uint32_t i,
                                             const Moment& now) const {
    if (cell.read_block_epoch != now.block_epoch) return std::nullopt;
    constexpr auto kind = SharedConflict::Kind::read;
    const auto collides = [&](const Access& other) {
      return other.thread != nobody && other.thread != now.thread && !both_atomic(other, now);
    };
    if (!same_warp(cell.last.thread, now.thread)) {
      if (collides(cell.last)) return conflict(kind, i, cell, cell.last);
    }
    if (collides(cell.stranger)) return conflict(kind, i, cell, cell.stranger);
    if (cell.read_warp_epoch != now.warp_epoch) return std::nullopt;
    if (same_warp(cell.last.thread, now.thread)) {
      if (collides(cell.last)) return conflict(kind, i, cell, cell.last);
      if (collides(cell.neighbour)) return conflict(kind, i, cell, cell.neighbour);
    }
    return std::nullopt;
  }

  static void add_reader(Cell& cell, const Moment& now) {
    const Access me = access(now);
    if (cell.read_block_epoch != now.block_epoch) {
      cell.read_block_epoch = now.block_epoch;
      cell.neighbour.thread = cell.stranger.thread = nobody;
    } else if (!same_warp(cell.last.thread, now.thread)) {
      cell.stranger = cell.last;
      cell.neighbour.thread = nobody;
    } else if (cell.read_warp_epoch != now.warp_epoch) {
      cell.neighbour.thread = nobody;
    } else if (cell.last.thread != now.thread) {
      cell.neighbour = cell.last;
    }
    cell.read_warp_epoch = now.warp_epoch;
    cell.last = me;
  }

  // A cell is as large as the narrowest access so far; a narrower one splits all cells.
  void refine_to(std::uint32_t address, std::uint32_t width) {
    const std::uint32_t mask = (1U << shift_) - 1;
    if (((address | width) & mask) == 0) return;
    int shift = shift_;
    while (((address | width) & ((1U << shift) - 1)) != 0) --shift;
    const std::size_t parts = std::size_t{1} << (shift_ - shift);
    std::vector<Cell> finer;
    finer.reserve(cells_.size() * parts);
    for (const Cell& cell : cells_) finer.insert(finer.end(), parts, cell);
    cells_ = std::move(finer);
    shift_ = shift;
  }

  std::vector<Cell> cells_;
  std::uint32_t first_epoch_ = 1;
  int shift_ = 4;
};

}  // namespace cornerturn::simt
