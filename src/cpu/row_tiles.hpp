// The tiles of the rows family, counted in the order of the destination.
#pragma once

#include <array>
#include <cstdint>

#include "core/problem.hpp"
#include "plan/rows.hpp"

namespace cornerturn::cpu {

struct RowTiles {
  struct Dim {
    std::int64_t extent;  // steps; bytes for the run
    std::int64_t src_stride;
    std::int64_t dst_stride;
    std::int64_t block;  // steps of a tile

    std::int64_t blocks() const { return (extent + block - 1) / block; }
  };

  std::array<Dim, ModeList::capacity + 3> dims;  // slowest first
  int rank = 0;
  int across_dim = 0;
  int along_dim = 0;
  int chunk_dim = 0;

  std::int64_t tiles() const {
    std::int64_t count = 1;
    for (int i = 0; i < rank; ++i) count *= dims[static_cast<std::size_t>(i)].blocks();
    return count;
  }
};

inline RowTiles row_tiles(const plan::RowsConfig& config, const Problem& normal) {
  RowTiles tiles;
  const auto add = [&tiles](const RowTiles::Dim& dim) {
    tiles.dims[static_cast<std::size_t>(tiles.rank)] = dim;
    return tiles.rank++;
  };
  const auto add_mode = [&](int index, std::int64_t block) {
    if (index < 0) return add({1, 0, 0, 1});
    const Mode& mode = normal.modes[index];
    return add({mode.extent, mode.src_stride, mode.dst_stride, block});
  };
  for (int i = 0; i < normal.rank(); ++i) {
    const bool is_run = i > config.along && i + 1 == normal.rank();
    if (i != config.along && i != config.across && !is_run) add_mode(i, 1);
  }
  tiles.across_dim = add_mode(config.across, config.across_block);
  tiles.along_dim = add_mode(config.along, config.along_block);
  tiles.chunk_dim = add({config.run_bytes, 1, 1, config.chunk_bytes});
  return tiles;
}

// The position of one tile; made by division, moved on by counting.
class TileCounter {
 public:
  TileCounter(const RowTiles& tiles, std::int64_t tile) : tiles_(tiles) {
    for (int i = tiles.rank; i-- > 0;) {
      const RowTiles::Dim& dim = tiles.dims[static_cast<std::size_t>(i)];
      at(i) = tile % dim.blocks() * dim.block;
      tile /= dim.blocks();
      src_ += at(i) * dim.src_stride;
      dst_ += at(i) * dim.dst_stride;
    }
  }

  void next() {
    for (int i = tiles_.rank; i-- > 0;) {
      const RowTiles::Dim& dim = tiles_.dims[static_cast<std::size_t>(i)];
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
  /// Steps of dimension `i` that are in this tile.
  std::int64_t count(int i) const {
    const RowTiles::Dim& dim = tiles_.dims[static_cast<std::size_t>(i)];
    const std::int64_t left = dim.extent - index_[static_cast<std::size_t>(i)];
    return left < dim.block ? left : dim.block;
  }

 private:
  std::int64_t& at(int i) { return index_[static_cast<std::size_t>(i)]; }

  const RowTiles& tiles_;
  std::array<std::int64_t, ModeList::capacity + 3> index_;
  std::int64_t src_ = 0;
  std::int64_t dst_ = 0;
};

}  // namespace cornerturn::cpu
