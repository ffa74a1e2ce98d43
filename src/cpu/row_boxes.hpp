// How the rows family cuts a problem into boxes: their order, their rows, and their source lines.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "core/problem.hpp"
#include "plan/cpu/rows.hpp"

namespace cornerturn::cpu {

/// Boxes in the order of the destination. The last dimension is the run itself, in bytes; the one
/// before it is `along`, whose rows follow each other in the destination.
struct RowBoxes {
  struct Dim {
    std::int64_t extent;
    std::int64_t src_stride;
    std::int64_t dst_stride;
    std::int64_t block;  // steps of a box

    std::int64_t blocks() const { return (extent + block - 1) / block; }
  };

  static constexpr int most_inner = plan::RowsConfig::most_blocks;

  std::array<Dim, ModeList::capacity + 2> dims;  // slowest first
  int rank = 0;
  std::array<int, most_inner> inner;      // dimensions with a block, without along and run
  std::array<int, most_inner + 1> lines;  // those and along, by source stride, largest first
  int inner_rank = 0;
  int lines_rank = 0;
  std::int64_t repeated_bytes;  // of the element that a run repeats, or 0: a run is read as it is

  const Dim& operator[](int i) const { return dims[static_cast<std::size_t>(i)]; }
  const Dim& run() const { return (*this)[rank - 1]; }
  const Dim& along() const { return (*this)[rank - 2]; }

  RowBoxes(const plan::RowsConfig& config, const Problem& normal)
      : repeated_bytes(config.repeated_bytes) {
    const auto add = [this](const Dim& dim) { dims[static_cast<std::size_t>(rank++)] = dim; };
    const auto slot = [](int i) { return static_cast<std::size_t>(i); };
    for (int i = 0; i < config.outer_rank; ++i) {
      const Mode& mode = normal.modes[i];
      add({mode.extent, mode.src_stride, mode.dst_stride, config.block_of(i)});
      if (i + 1 < config.outer_rank && dims[slot(i)].block > 1) inner[slot(inner_rank++)] = i;
    }
    if (rank == 0) add({1, 0, 0, 1});
    add({config.run_bytes, repeated_bytes > 0 ? 0 : 1, 1, config.chunk_bytes});
    std::copy_n(inner.begin(), inner_rank, lines.begin());
    lines_rank = inner_rank;
    lines[slot(lines_rank++)] = rank - 2;
    std::sort(lines.begin(), lines.begin() + lines_rank, [this](int a, int b) {
      return std::abs((*this)[a].src_stride) > std::abs((*this)[b].src_stride);
    });
  }

  std::int64_t count() const {
    std::int64_t boxes = 1;
    for (int i = 0; i < rank; ++i) boxes *= (*this)[i].blocks();
    return boxes;
  }
};

/// One box after the other: the first found by division, the others by counting.
class BoxCounter {
 public:
  BoxCounter(const RowBoxes& boxes, std::int64_t box) : boxes_(boxes) {
    for (int i = boxes.rank; i-- > 0;) {
      const RowBoxes::Dim& dim = boxes[i];
      at(i) = box % dim.blocks() * dim.block;
      box /= dim.blocks();
      src_ += at(i) * dim.src_stride;
      dst_ += at(i) * dim.dst_stride;
    }
  }

  void next() {
    for (int i = boxes_.rank; i-- > 0;) {
      const RowBoxes::Dim& dim = boxes_[i];
      at(i) += dim.block;
      src_ += dim.block * dim.src_stride;
      dst_ += dim.block * dim.dst_stride;
      if (at(i) < dim.extent) return;
      src_ -= at(i) * dim.src_stride;
      dst_ -= at(i) * dim.dst_stride;
      at(i) = 0;
    }
  }

  std::int64_t src_offset() const { return src_; }
  std::int64_t dst_offset() const { return dst_; }
  /// Steps of dimension `i` that are in this box.
  std::int64_t count(int i) const {
    return std::min(boxes_[i].block, boxes_[i].extent - index_[static_cast<std::size_t>(i)]);
  }

 private:
  std::int64_t& at(int i) { return index_[static_cast<std::size_t>(i)]; }

  const RowBoxes& boxes_;
  // The offsets are kept apart: compilers would load both as a vector, and a load that needs two
  // stores waits until these are in the cache, behind all that miss it.
  std::int64_t src_ = 0;
  std::array<std::int64_t, ModeList::capacity + 2> index_;
  std::int64_t dst_ = 0;
};

/// Fetches the source lines of a box into the second-level cache, a little at a time, in the order
/// of their addresses.
class LineFetcher {
 public:
  void start(const RowBoxes& boxes, const BoxCounter& box, const std::byte* src) {
    piece_ = src + box.src_offset();
    piece_bytes_ = boxes.repeated_bytes > 0 ? boxes.repeated_bytes : box.count(boxes.rank - 1);
    done_ = 0;
    rank_ = 0;
    left_ = true;
    for (int i = boxes.lines_rank; i-- > 0;) {
      const int dim = boxes.lines[static_cast<std::size_t>(i)];
      const std::int64_t count = box.count(dim);
      const std::int64_t stride = boxes[dim].src_stride;
      if (count == 1 || stride == 0) continue;
      if (rank_ == 0 && stride > 0 && stride <= piece_bytes_ + line) {
        piece_bytes_ += (count - 1) * stride;  // the next row begins on the same line or the next
      } else {
        loops_[static_cast<std::size_t>(rank_++)] = {count, stride, 0};
      }
    }
  }

  void fetch(std::int64_t bytes) {
    while (left_ && bytes > 0) {
      const std::int64_t part = std::min(bytes, piece_bytes_ - done_);
      for (std::int64_t k = 0; k < part; k += line) __builtin_prefetch(piece_ + done_ + k, 0, 2);
      done_ += part;
      bytes -= part;
      if (done_ == piece_bytes_) next_piece();
    }
  }

  bool done() const { return !left_; }

  void fetch_all() {
    while (left_) fetch(piece_bytes_);
  }

 private:
  static constexpr std::int64_t line = 64;

  struct Loop {
    std::int64_t count;
    std::int64_t stride;
    std::int64_t index;
  };

  void next_piece() {
    __builtin_prefetch(piece_ + piece_bytes_ - 1, 0, 2);
    done_ = 0;
    for (int i = 0; i < rank_; ++i) {
      Loop& loop = loops_[static_cast<std::size_t>(i)];
      piece_ += loop.stride;
      if (++loop.index < loop.count) return;
      piece_ -= loop.count * loop.stride;
      loop.index = 0;
    }
    left_ = false;
  }

  std::array<Loop, RowBoxes::most_inner + 1> loops_;  // fastest first
  int rank_ = 0;
  const std::byte* piece_ = nullptr;
  std::int64_t piece_bytes_ = 0;
  std::int64_t done_ = 0;
  bool left_ = false;
};

}  // namespace cornerturn::cpu
