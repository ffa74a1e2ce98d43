// The tiles of a transposition in place, and the order in which pairs of them change places.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/divide.hpp"
#include "plan/cpu/swap.hpp"
#include "plan/swap_split.hpp"

namespace cornerturn::cpu {

// The pairs of groups of tiles of all matrices, as pieces. The first tile is larger where the
// others then begin with lines.
class SwapGrid {
 public:
  SwapGrid(const plan::SwapConfig& config, const Problem& normal,
           const std::uint8_t* data = nullptr)
      : split(*plan::split_swap(normal)),
        tile(config.tile),
        group(config.group),
        staged(config.staged) {
    tiles = tiles_of(split.extent);
    groups = ceil_div(tiles, group);
    pairs = groups * (groups + 1) / 2;
    for (const Mode& mode : split.batch) matrices *= mode.extent;
    lead = lead_of(data);
    tiles = tiles_of(split.extent - lead);
  }

  std::int64_t pieces() const { return matrices * pairs; }

  std::int64_t matrix_offset(std::int64_t matrix) const {
    std::int64_t offset = 0;
    for (int i = split.batch.size(); i-- > 0;) {
      const Mode& mode = split.batch[i];
      offset += matrix % mode.extent * mode.dst_stride;
      matrix /= mode.extent;
    }
    return offset;
  }

  std::int64_t begin(std::int64_t t) const { return t == 0 ? 0 : lead + t * tile; }
  std::int64_t size(std::int64_t t) const {
    return (t + 1 == tiles ? split.extent : begin(t + 1)) - begin(t);
  }

 private:
  std::int64_t narrowest() const { return 64 / split.element; }

  // A tile that is too narrow at the end joins the one before.
  std::int64_t tiles_of(std::int64_t extent) const {
    const std::int64_t count = ceil_div(extent, tile);
    return count > 1 && extent - (count - 1) * tile < narrowest() ? count - 1 : count;
  }

  // Elements before the first that begins a line, where all rows of all matrices have as many.
  std::int64_t lead_of(const std::uint8_t* data) const {
    if (!staged || split.extent < 3 * tile || split.row_stride % 64 != 0) return 0;
    for (const Mode& mode : split.batch) {
      if (mode.dst_stride % 64 != 0) return 0;
    }
    const auto phase = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(data) % 64);
    return phase % split.element == 0 ? (64 - phase) % 64 / split.element : 0;
  }

 public:
  plan::SwapSplit split;
  std::int64_t tile;   // elements
  std::int64_t group;  // tiles
  bool staged;
  std::int64_t lead = 0;
  std::int64_t tiles = 1;
  std::int64_t groups = 1;  // the last one may be empty
  std::int64_t pairs = 1;   // of groups
  std::int64_t matrices = 1;
};

/// Tiles (i, j) and (j, i), i <= j: one pair of groups after the other, so that the pages of the
/// rows of a group are still known when their next columns are read. Within a pair of groups along
/// diagonals, so that neither row nor column is that of the pair before.
class TileWalk {
 public:
  TileWalk(const SwapGrid& grid, std::int64_t first)
      : grid_(grid), piece(first), matrix(first / grid.pairs) {
    std::int64_t left = first % grid.pairs;
    for (; left >= grid.groups - group_i_; ++group_i_) left -= grid.groups - group_i_;
    group_j_ = group_i_ + left;
    begin_group();
    if (is_empty()) next_group();
  }

  void next() {
    do {
      if (++at_ == along()) {
        at_ = 0;
        if (++diagonal_ == size(group_i_)) return next_group();
      }
      place();
    } while (j >= grid_.tiles);
  }

 private:
  void next_group() {
    do {
      ++piece;
      if (++group_j_ == grid_.groups) group_j_ = ++group_i_;
      if (group_i_ == grid_.groups) {
        group_i_ = group_j_ = 0;
        ++matrix;
      }
    } while (is_empty());
    begin_group();
  }
  bool is_empty() const { return group_j_ * grid_.group >= grid_.tiles; }
  void begin_group() {
    diagonal_ = at_ = 0;
    place();
  }
  // A group on the diagonal has half of its pairs; diagonals are cut, elsewhere they go round.
  std::int64_t along() const {
    return group_i_ == group_j_ ? size(group_i_) - diagonal_ : size(group_i_);
  }
  void place() {
    const std::int64_t across = at_ + diagonal_;
    i = group_i_ * grid_.group + at_;
    j = group_j_ * grid_.group + (across < size(group_i_) ? across : across - size(group_i_));
  }
  std::int64_t size(std::int64_t group) const {
    return std::min(grid_.group, grid_.tiles - group * grid_.group);
  }

  const SwapGrid& grid_;
  std::int64_t group_i_ = 0;
  std::int64_t group_j_ = 0;
  std::int64_t diagonal_ = 0;
  std::int64_t at_ = 0;  // on the diagonal

 public:
  std::int64_t piece;
  std::int64_t matrix;
  std::int64_t i = 0;
  std::int64_t j = 0;
};

}  // namespace cornerturn::cpu
