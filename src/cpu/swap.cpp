// swap: pairs of tiles (i, j) and (j, i). Both are loaded and transposed into a stage, then each is
// stored where the other was: every line of the array is read and written once.
#include <algorithm>
#include <cassert>
#include <cstring>

#include "core/divide.hpp"
#include "cpu/kernel.hpp"
#include "cpu/scratch.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/swap.cpp"
#include <hwy/foreach_target.h>
//
#include <hwy/highway.h>

#include "cpu/transpose_block.hpp"

#ifndef CORNERTURN_CPU_SWAP_ONCE
#define CORNERTURN_CPU_SWAP_ONCE
namespace cornerturn::cpu {
namespace {

using plan::SwapConfig;
using plan::SwapSplit;

// Two tiles, of which the last of a matrix may have nearly twice the planned size.
constexpr std::int64_t swap_stage_bytes = 64 << 10;

struct SwapScratch {
  alignas(64) std::uint8_t stage[swap_stage_bytes];
};

// The pairs of groups of tiles of all matrices, as pieces.
struct SwapGrid {
  SwapGrid(const SwapConfig& config, const Problem& normal)
      : split(*plan::split_swap(normal)), tile(config.tile), group(config.group) {
    // A last tile that is too narrow for the widest register joins the one before.
    const std::int64_t narrowest = 64 / split.element;
    tiles = ceil_div(split.extent, tile);
    if (tiles > 1 && split.extent - (tiles - 1) * tile < narrowest) --tiles;
    groups = ceil_div(tiles, group);
    pairs = groups * (groups + 1) / 2;
    for (const Mode& mode : split.batch) matrices *= mode.extent;
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

  std::int64_t size(std::int64_t t) const {
    return t + 1 == tiles ? split.extent - t * tile : tile;
  }

  SwapSplit split;
  std::int64_t tile;   // elements
  std::int64_t group;  // tiles
  std::int64_t tiles = 1;
  std::int64_t groups = 1;
  std::int64_t pairs = 1;  // of groups
  std::int64_t matrices = 1;
};

/// Tiles (i, j) and (j, i), i <= j: one pair of groups after the other, so that the pages of the
/// rows of a group are still known when their next columns are read.
class TileWalk {
 public:
  TileWalk(const SwapGrid& grid, std::int64_t first)
      : grid_(grid), piece(first), matrix(first / grid.pairs) {
    std::int64_t left = first % grid.pairs;
    for (; left >= grid.groups - group_i_; ++group_i_) left -= grid.groups - group_i_;
    group_j_ = group_i_ + left;
    begin_group();
  }

  void next() {
    if (++j < end(group_j_)) return;
    ++i;
    j = std::max(group_j_ * grid_.group, i);
    if (i < end(group_i_) && j < end(group_j_)) return;
    ++piece;
    if (++group_j_ == grid_.groups) group_j_ = ++group_i_;
    if (group_i_ == grid_.groups) {
      group_i_ = group_j_ = 0;
      ++matrix;
    }
    begin_group();
  }

 private:
  void begin_group() {
    i = group_i_ * grid_.group;
    j = group_j_ * grid_.group;
  }
  std::int64_t end(std::int64_t group) const {
    return std::min((group + 1) * grid_.group, grid_.tiles);
  }

  const SwapGrid& grid_;
  std::int64_t group_i_ = 0;
  std::int64_t group_j_ = 0;

 public:
  std::int64_t piece;
  std::int64_t matrix;
  std::int64_t i = 0;
  std::int64_t j = 0;
};

// Elements of any size, where a stage would save nothing.
void swap_elements(const SwapGrid& grid, std::uint8_t* data, std::int64_t first,
                   std::int64_t last) {
  const SwapSplit& split = grid.split;
  for (TileWalk pair(grid, first); pair.piece < last; pair.next()) {
    std::uint8_t* const matrix = data + grid.matrix_offset(pair.matrix);
    for (std::int64_t a = 0; a < grid.size(pair.i); ++a) {
      const std::int64_t row = pair.i * grid.tile + a;
      for (std::int64_t b = pair.i == pair.j ? a + 1 : 0; b < grid.size(pair.j); ++b) {
        const std::int64_t column = pair.j * grid.tile + b;
        std::uint8_t* const one = matrix + row * split.row_stride + column * split.column_stride;
        std::uint8_t* const other = matrix + column * split.row_stride + row * split.column_stride;
        std::swap_ranges(one, one + split.element, other);
      }
    }
  }
}

}  // namespace
}  // namespace cornerturn::cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace cornerturn::cpu {
namespace HWY_NAMESPACE {
namespace {

using Byte = std::uint8_t;

HWY_INLINE void copy_row(Byte* to, const Byte* from, std::int64_t bytes) {
  std::int64_t at = 0;
  for (; at + vector_bytes <= bytes; at += vector_bytes) copy_vector(to + at, from + at);
  for (; at + 8 <= bytes; at += 8) std::memcpy(to + at, from + at, 8);
  for (; at < bytes; ++at) to[at] = from[at];
}

template <int width>
class Swapping {
 public:
  static constexpr int V = unit_rows<width>();
  static constexpr int K = unit_columns<width>();
  static constexpr std::int64_t T = 64 / width < 8 ? 8 : 64 / width;  // as is planned here

  Swapping(const SwapGrid& grid, Byte* data)
      : grid_(grid),
        data_(data),
        pitch_(grid.split.row_stride),
        scratch_(thread_scratch<SwapScratch>(Scratch::moving)) {
    assert(2 * 4 * grid.tile * grid.tile * width <= swap_stage_bytes);
  }

  void run(std::int64_t first, std::int64_t last) {
    TileWalk pair(grid_, first);
    while (pair.piece < last) {
      const Tiles now = tiles(pair);
      pair.next();
      const Tiles next = pair.piece < last ? tiles(pair) : now;
      if (now.rows == T && now.columns == T) {
        swap(now, next, T, T);
      } else {
        swap(now, next, now.rows, now.columns);
      }
    }
  }

 private:
  struct Tiles {
    Byte* one;
    Byte* other;
    std::int64_t rows;  // of the one, columns of the other
    std::int64_t columns;
  };

  Tiles tiles(const TileWalk& pair) const {
    Byte* const matrix = data_ + grid_.matrix_offset(pair.matrix);
    return {matrix + pair.i * grid_.tile * pitch_ + pair.j * grid_.tile * width,
            matrix + pair.j * grid_.tile * pitch_ + pair.i * grid_.tile * width, grid_.size(pair.i),
            grid_.size(pair.j)};
  }

  // Inlined: whole tiles are worked on with sizes that the compiler knows.
  HWY_INLINE void swap(const Tiles& now, const Tiles& next, std::int64_t rows,
                       std::int64_t columns) {
    Byte* const second = scratch_.stage + rows * columns * width;
    load(now.one, rows, columns, scratch_.stage, next.one);
    if (now.one == now.other) return store(scratch_.stage, now.one, columns, rows);
    load(now.other, columns, rows, second, next.other);
    store(second, now.one, rows, columns);
    store(scratch_.stage, now.other, columns, rows);
  }

  // h rows of w elements become w rows of h elements, packed. `next` is read soon.
  HWY_INLINE void load(const Byte* from, std::int64_t h, std::int64_t w, Byte* stage,
                       const Byte* next) {
    if (h < V || w < K) {
      for (std::int64_t row = 0; row < h; ++row) {
        for (std::int64_t column = 0; column < w; ++column) {
          std::memcpy(stage + (column * h + row) * width, from + row * pitch_ + column * width,
                      width);
        }
      }
      return;
    }
    const std::int64_t pitch = pitch_;
    for (std::int64_t r = 0; r < h; r += V) {
      const std::int64_t row = std::min(r, h - V);
      prefetch(next + row * pitch_, w);
      const Byte* const block = from + row * pitch;
      for (std::int64_t c = 0; c < w; c += K) {
        const std::int64_t column = std::min(c, w - K);
        const Byte* const unit = block + column * width;
        Byte* const to = stage + (column * h + row) * width;
        transpose_unit<width>([=](int i) { return unit + i * pitch; },
                              [=](int k) { return to + k * h * width; });
      }
    }
  }

  HWY_INLINE void prefetch(const Byte* rows, std::int64_t w) const {
    for (int i = 0; i < V; ++i) {
      for (std::int64_t b = 0; b < w * width; b += 64)
        __builtin_prefetch(rows + i * pitch_ + b, 1, 2);
    }
  }

  HWY_INLINE void store(const Byte* stage, Byte* to, std::int64_t h, std::int64_t w) const {
    for (std::int64_t row = 0; row < h; ++row) {
      copy_row(to + row * pitch_, stage + row * w * width, w * width);
    }
  }

  const SwapGrid& grid_;
  Byte* const data_;
  const std::int64_t pitch_;
  SwapScratch& scratch_;
};

void run_swap(const SwapGrid& grid, Byte* data, std::int64_t first, std::int64_t last) {
  switch (grid.split.element) {
    case 1:
      return Swapping<1>(grid, data).run(first, last);
    case 2:
      return Swapping<2>(grid, data).run(first, last);
    case 4:
      return Swapping<4>(grid, data).run(first, last);
    case 8:
      return Swapping<8>(grid, data).run(first, last);
    default:
      return Swapping<16>(grid, data).run(first, last);
  }
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace cornerturn::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace cornerturn::cpu {

HWY_EXPORT(run_swap);

std::int64_t pieces(const plan::SwapConfig& config, const Problem& normal) {
  return SwapGrid(config, normal).pieces();
}

void run(const plan::SwapConfig& config, const Problem& normal, const Buffers& buffers,
         std::int64_t first, std::int64_t last) {
  const SwapGrid grid(config, normal);
  auto* const data = static_cast<std::uint8_t*>(buffers.dst);
  if (!grid.split.in_registers()) return swap_elements(grid, data, first, last);
  HWY_DYNAMIC_DISPATCH(run_swap)(grid, data, first, last);
}

}  // namespace cornerturn::cpu
#endif
