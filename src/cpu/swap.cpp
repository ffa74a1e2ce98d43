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

// Two tiles of the planned size and a register more either way, of the worst size of elements.
constexpr std::int64_t swap_stage_bytes = 2 * (128 + 32) * (128 + 32) * 2;
// A register's rows, of the longest tile, each with a line more.
constexpr std::int64_t swap_block_bytes = 64 * (128 + 64 + 64);

struct SwapScratch {
  alignas(64) std::uint8_t stage[swap_stage_bytes];
  alignas(64) std::uint8_t block[swap_block_bytes];
};

// The pairs of tiles of all matrices, as pieces.
struct SwapGrid {
  SwapGrid(const SwapConfig& config, const Problem& normal)
      : split(*plan::split_swap(normal)), tile(config.tile) {
    // A last tile that is too narrow for the widest register joins the one before.
    const std::int64_t narrowest = 64 / split.element;
    tiles = ceil_div(split.extent, tile);
    if (tiles > 1 && split.extent - (tiles - 1) * tile < narrowest) --tiles;
    pairs = tiles * (tiles + 1) / 2;
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
  std::int64_t tile;
  std::int64_t tiles = 1;
  std::int64_t pairs = 1;
  std::int64_t matrices = 1;
};

/// Tiles (i, j) and (j, i), i <= j, in the order in which they are numbered: i first.
struct TilePair {
  TilePair(const SwapGrid& grid, std::int64_t piece) : grid_(grid), matrix(piece / grid.pairs) {
    for (std::int64_t left = piece % grid.pairs; left >= grid.tiles - i; ++i)
      left -= grid.tiles - i;
    j = i + (piece % grid.pairs - (i * grid.tiles - i * (i - 1) / 2));
  }
  void next() {
    if (++j < grid_.tiles) return;
    j = ++i;
    if (i < grid_.tiles) return;
    i = j = 0;
    ++matrix;
  }

 private:
  const SwapGrid& grid_;

 public:
  std::int64_t matrix;
  std::int64_t i = 0;
  std::int64_t j = 0;
};

// Elements of any size, where a stage would save nothing.
void swap_elements(const SwapGrid& grid, std::uint8_t* data, std::int64_t first,
                   std::int64_t last) {
  const SwapSplit& split = grid.split;
  TilePair pair(grid, first);
  for (std::int64_t piece = first; piece < last; ++piece, pair.next()) {
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

  Swapping(const SwapConfig& config, const SwapGrid& grid, Byte* data)
      : config_(config),
        grid_(grid),
        data_(data),
        pitch_(grid.split.row_stride),
        scratch_(thread_scratch<SwapScratch>(Scratch::moving)) {
    assert(2 * (grid.tile + V) * (grid.tile + V) * width <= swap_stage_bytes);
  }

  void run(std::int64_t first, std::int64_t last) {
    TilePair pair(grid_, first);
    for (std::int64_t piece = first; piece < last; ++piece, pair.next()) {
      Byte* const matrix = data_ + grid_.matrix_offset(pair.matrix);
      const std::int64_t h = grid_.size(pair.i);
      const std::int64_t w = grid_.size(pair.j);
      Byte* const one = matrix + pair.i * grid_.tile * pitch_ + pair.j * grid_.tile * width;
      Byte* const other = matrix + pair.j * grid_.tile * pitch_ + pair.i * grid_.tile * width;
      if (pair.i == pair.j) {
        load(one, h, w, scratch_.stage, one);
        store(scratch_.stage, one, w, h);
        continue;
      }
      Byte* const second = scratch_.stage + w * h * width;
      load(one, h, w, scratch_.stage, other);
      load(other, w, h, second, one + grid_.tile * width);
      store(second, one, h, w);
      store(scratch_.stage, other, w, h);
    }
  }

 private:
  // h rows of w elements become w rows of h elements, packed. `next` is read soon.
  void load(const Byte* from, std::int64_t h, std::int64_t w, Byte* stage, const Byte* next) {
    if (h < V || w < K) {
      for (std::int64_t row = 0; row < h; ++row) {
        for (std::int64_t column = 0; column < w; ++column) {
          std::memcpy(stage + (column * h + row) * width, from + row * pitch_ + column * width,
                      width);
        }
      }
      return;
    }
    for (std::int64_t r = 0; r < h; r += V) {
      const std::int64_t row = std::min(r, h - V);
      prefetch(r + V < h ? from + (r + V) * pitch_ : next, w);
      const Byte* block = from + row * pitch_;
      std::int64_t pitch = pitch_;
      if (config_.copy_rows) {
        pitch = w * width + 64;
        for (int i = 0; i < V; ++i)
          copy_row(scratch_.block + i * pitch, block + i * pitch_, w * width);
        block = scratch_.block;
      }
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

  void store(const Byte* stage, Byte* to, std::int64_t h, std::int64_t w) const {
    for (std::int64_t row = 0; row < h; ++row) {
      copy_row(to + row * pitch_, stage + row * w * width, w * width);
    }
  }

  const SwapConfig config_;
  const SwapGrid& grid_;
  Byte* const data_;
  const std::int64_t pitch_;
  SwapScratch& scratch_;
};

void run_swap(const SwapConfig& config, const SwapGrid& grid, Byte* data, std::int64_t first,
              std::int64_t last) {
  switch (grid.split.element) {
    case 1:
      return Swapping<1>(config, grid, data).run(first, last);
    case 2:
      return Swapping<2>(config, grid, data).run(first, last);
    case 4:
      return Swapping<4>(config, grid, data).run(first, last);
    case 8:
      return Swapping<8>(config, grid, data).run(first, last);
    default:
      return Swapping<16>(config, grid, data).run(first, last);
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
  HWY_DYNAMIC_DISPATCH(run_swap)(config, grid, data, first, last);
}

}  // namespace cornerturn::cpu
#endif
