// swap: pairs of tiles (i, j) and (j, i): every line of the array is read and written once.
//
// A pair of whole tiles is worked on in pairs of blocks of V x V elements, V to a register: one
// block is transposed into a small stage, the other into the place of the first, and the stage is
// copied to where the other was. Meanwhile the next pair of tiles is fetched, a row of four lines
// at a time. Where the rows of a tile collide in the caches, both tiles are copied to the side, row
// by row, and are transposed from there into each other's places; so are the tiles at the edge,
// which have any size.
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

// A last tile that is too narrow for the widest register joins the one before, so tiles have up to
// a line square more along either side. Their copies have room for a line more in each row.
constexpr std::int64_t copy_bytes(std::int64_t element) {
  const std::int64_t side = plan::swap::tile_side(element) + plan::swap::line_square(element);
  return side * (side * element + 2 * 64);
}
constexpr std::int64_t most_copy_bytes =
    std::max({copy_bytes(1), copy_bytes(2), copy_bytes(4), copy_bytes(8), copy_bytes(16)});

struct SwapScratch {
  alignas(64) std::uint8_t copies[2 * most_copy_bytes];
};

// The pairs of groups of tiles of all matrices, as pieces.
struct SwapGrid {
  SwapGrid(const SwapConfig& config, const Problem& normal)
      : split(*plan::split_swap(normal)), tile(config.tile), group(config.group) {
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

template <int width, int tile_lines>
class Swapping {
 public:
  Swapping(const SwapGrid& grid, bool staged, Byte* data)
      : grid_(grid),
        staged_(staged),
        data_(data),
        pitch_(grid.split.row_stride),
        scratch_(thread_scratch<SwapScratch>(Scratch::moving)) {
    assert(grid.tile == S);
  }

  void run(std::int64_t first, std::int64_t last) {
    TileWalk pair(grid_, first);
    while (pair.piece < last) {
      const Tiles now = tiles(pair);
      pair.next();
      const Tiles next = pair.piece < last ? tiles(pair) : now;
      if (now.rows != S || now.columns != S) {
        exchange(now, next, now.rows, now.columns);
      } else if (staged_) {
        exchange(now, next, S, S);
      } else {
        swap_blocks(now, next);
      }
    }
  }

 private:
  static constexpr int V = unit_rows<width>();
  static constexpr int K = unit_columns<width>();
  static constexpr std::int64_t T = plan::swap::line_square(width);
  static constexpr std::int64_t S = tile_lines * T;
  static constexpr std::int64_t squares = S / T;  // along a side
  static constexpr std::int64_t lines = S * width / 64;

  struct Tiles {
    Byte* one;
    Byte* other;
    std::int64_t rows;  // of the one, columns of the other
    std::int64_t columns;
  };

  Tiles tiles(const TileWalk& pair) const {
    Byte* const matrix = data_ + grid_.matrix_offset(pair.matrix);
    return {matrix + pair.i * S * pitch_ + pair.j * S * width,
            matrix + pair.j * S * pitch_ + pair.i * S * width, grid_.size(pair.i),
            grid_.size(pair.j)};
  }

  // V x V elements.
  static HWY_INLINE void turn(const Byte* from, std::int64_t from_pitch, Byte* to,
                              std::int64_t to_pitch) {
    CT_UNROLL
    for (int c = 0; c < V; c += K) {
      transpose_unit<width>([=](int i) { return from + i * from_pitch + c * width; },
                            [=](int k) { return to + (c + k) * to_pitch; });
    }
  }

  // ---- whole tiles, through the registers ----

  HWY_INLINE void swap_blocks(const Tiles& now, const Tiles& next) const {
    for (std::int64_t i = 0; i < squares; ++i) {
      for (std::int64_t j = 0; j < squares; ++j) {
        fetch_part(next, i * squares + j);
        Byte* const one = now.one + i * T * pitch_ + j * T * width;
        Byte* const other = now.other + j * T * pitch_ + i * T * width;
        if (now.one != now.other || j > i) {
          swap_squares(one, other);
        } else if (i == j) {
          turn_square(one);
        }
      }
    }
  }

  // One of squares * squares parts of both tiles: a few of their rows.
  HWY_INLINE void fetch_part(const Tiles& next, std::int64_t part) const {
    constexpr std::int64_t rows = S / (squares * squares);
    for (std::int64_t row = part * rows; row < (part + 1) * rows; ++row) {
      for (std::int64_t line = 0; line < lines; ++line) {
        __builtin_prefetch(next.one + row * pitch_ + line * 64, 0, 2);
        __builtin_prefetch(next.other + row * pitch_ + line * 64, 0, 2);
      }
    }
  }

  HWY_INLINE void swap_squares(Byte* one, Byte* other) const {
    for (std::int64_t r = 0; r < T; r += V) {
      for (std::int64_t c = 0; c < T; c += V) {
        swap_block(one + r * pitch_ + c * width, other + c * pitch_ + r * width);
      }
    }
  }

  HWY_INLINE void turn_square(Byte* square) const {
    for (std::int64_t r = 0; r < T; r += V) {
      turn_block(square + r * pitch_ + r * width);
      for (std::int64_t c = r + V; c < T; c += V) {
        swap_block(square + r * pitch_ + c * width, square + c * pitch_ + r * width);
      }
    }
  }

  HWY_INLINE void swap_block(Byte* one, Byte* other) const {
    alignas(64) Byte stage[V * vector_bytes];
    turn(one, pitch_, stage, vector_bytes);
    turn(other, pitch_, one, pitch_);
    for (int i = 0; i < V; ++i) copy_vector(other + i * pitch_, stage + i * vector_bytes);
  }

  HWY_INLINE void turn_block(Byte* block) const {
    alignas(64) Byte stage[V * vector_bytes];
    turn(block, pitch_, stage, vector_bytes);
    for (int i = 0; i < V; ++i) copy_vector(block + i * pitch_, stage + i * vector_bytes);
  }

  // ---- tiles of any size, by way of copies ----

  // Inlined: whole tiles are worked on with sizes that the compiler knows.
  HWY_INLINE void exchange(const Tiles& now, const Tiles& next, std::int64_t rows,
                           std::int64_t columns) {
    Byte* const one = scratch_.copies;
    Byte* const other = one + most_copy_bytes;
    copy_aside(now.one, next.one, rows, columns, one);
    if (now.one == now.other) return put(one, now.one, columns, rows);
    copy_aside(now.other, next.other, columns, rows, other);
    put(other, now.one, rows, columns);
    put(one, now.other, columns, rows);
  }

  // Between the rows of a copy: an odd number of lines, which spreads over the sets of the caches.
  static HWY_INLINE std::int64_t copy_pitch(std::int64_t columns) {
    return ((columns * width + 63) / 64 | 1) * 64;
  }

  // Meanwhile the same rows of the next tile are fetched.
  HWY_INLINE void copy_aside(const Byte* from, const Byte* next, std::int64_t h, std::int64_t w,
                             Byte* copy) const {
    const std::int64_t pitch = copy_pitch(w);
    for (std::int64_t row = 0; row < h; ++row) {
      const Byte* const ahead = next + row * pitch_;
      for (std::int64_t b = 0; b < w * width; b += 64) __builtin_prefetch(ahead + b, 0, 2);
      copy_row(copy + row * pitch, from + row * pitch_, w * width);
    }
  }

  // Writes h rows of w elements; the copy has w rows of h elements.
  HWY_INLINE void put(const Byte* copy, Byte* to, std::int64_t h, std::int64_t w) const {
    const std::int64_t pitch = copy_pitch(h);
    const std::int64_t to_pitch = pitch_;
    if (h < K || w < V) {
      for (std::int64_t row = 0; row < h; ++row) {
        for (std::int64_t column = 0; column < w; ++column) {
          std::memcpy(to + row * to_pitch + column * width, copy + column * pitch + row * width,
                      width);
        }
      }
      return;
    }
    for (std::int64_t r = 0; r < h; r += K) {
      const std::int64_t row = std::min(r, h - K);
      for (std::int64_t c = 0; c < w; c += V) {
        const std::int64_t column = std::min(c, w - V);
        const Byte* const unit = copy + column * pitch + row * width;
        Byte* const out = to + row * to_pitch + column * width;
        transpose_unit<width>([=](int i) { return unit + i * pitch; },
                              [=](int k) { return out + k * to_pitch; });
      }
    }
  }

  const SwapGrid& grid_;
  const bool staged_;
  Byte* const data_;
  const std::int64_t pitch_;
  SwapScratch& scratch_;
};

template <int width>
void run_tiles(const SwapGrid& grid, bool staged, Byte* data, std::int64_t first,
               std::int64_t last) {
  switch (grid.tile / plan::swap::line_square(width)) {
    case 1:
      return Swapping<width, 1>(grid, staged, data).run(first, last);
    case 2:
      return Swapping<width, 2>(grid, staged, data).run(first, last);
    default:
      return Swapping<width, plan::swap::lines_a_row>(grid, staged, data).run(first, last);
  }
}

void run_swap(const SwapGrid& grid, bool staged, Byte* data, std::int64_t first,
              std::int64_t last) {
  switch (grid.split.element) {
    case 1:
      return run_tiles<1>(grid, staged, data, first, last);
    case 2:
      return run_tiles<2>(grid, staged, data, first, last);
    case 4:
      return run_tiles<4>(grid, staged, data, first, last);
    case 8:
      return run_tiles<8>(grid, staged, data, first, last);
    default:
      return run_tiles<16>(grid, staged, data, first, last);
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
  HWY_DYNAMIC_DISPATCH(run_swap)(grid, config.staged, data, first, last);
}

}  // namespace cornerturn::cpu
#endif
