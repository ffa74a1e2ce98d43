// swap: pairs of tiles (i, j) and (j, i): every line of the array is read and written once.
//
// Each tile is copied to the side, row by row, and is transposed from there into the place of the
// other once that has been copied too. All of it runs at once, so that memory is read and written
// all the time: while the rows of one tile are copied, the tile before the last is put in its
// place, and rows of the tiles that follow are on their way to the second-level cache. Where rows
// are a power of two apart, that cache has room for the rows of few tiles that lie below each
// other: so the next pair lies in other columns as well as in other rows.
//
// What lies in the caches already changes places in pairs of blocks of V x V elements, V to a
// register: one block is transposed into a small stage, the other into the place of the first, and
// the stage is copied to where the other was.
#include <algorithm>
#include <cassert>
#include <cstring>

#include "core/divide.hpp"
#include "cpu/kernel.hpp"
#include "cpu/scratch.hpp"
#include "cpu/swap_tiles.hpp"
#include "plan/cpu/swap.hpp"

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

using plan::SwapSplit;

// The first and the last tile have up to a line square more along either side. Their copies have
// room for a line more in each row.
constexpr std::int64_t copy_bytes(std::int64_t element) {
  const std::int64_t side = plan::swap::tile_side(element) + plan::swap::line_square(element);
  return side * (side * element + 2 * 64);
}
constexpr std::int64_t most_copy_bytes =
    std::max({copy_bytes(1), copy_bytes(2), copy_bytes(4), copy_bytes(8), copy_bytes(16)});

// One that is read, one that waits for its place to be read, one that is written.
constexpr int tiles_in_work = 3;
constexpr std::int64_t lines_ahead = 96;

struct SwapScratch {
  alignas(64) std::uint8_t copies[tiles_in_work * most_copy_bytes];
};

// Elements of any size, where a stage would save nothing.
void swap_elements(const SwapGrid& grid, std::uint8_t* data, std::int64_t first,
                   std::int64_t last) {
  const SwapSplit& split = grid.split;
  for (TileWalk pair(grid, first); pair.piece < last; pair.next()) {
    std::uint8_t* const matrix = data + grid.matrix_offset(pair.matrix);
    for (std::int64_t a = 0; a < grid.size(pair.i); ++a) {
      const std::int64_t row = grid.begin(pair.i) + a;
      for (std::int64_t b = pair.i == pair.j ? a + 1 : 0; b < grid.size(pair.j); ++b) {
        const std::int64_t column = grid.begin(pair.j) + b;
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
  if (at > 0) {
    if (at < bytes) copy_vector(to + bytes - vector_bytes, from + bytes - vector_bytes);
    return;
  }
  for (; at + 8 <= bytes; at += 8) std::memcpy(to + at, from + at, 8);
  for (; at < bytes; ++at) to[at] = from[at];
}

struct Tile {
  Byte* from;  // `rows` rows of `columns` elements
  Byte* to;    // `columns` rows of `rows` elements
  std::int64_t rows;
  std::int64_t columns;
};

/// The tiles in the order in which they are read: both of each pair.
template <int width>
class Tiles {
 public:
  Tiles(const SwapGrid& grid, Byte* data, std::int64_t first, std::int64_t last)
      : grid_(grid), data_(data), pair_(grid, first), last_(last) {
    if (!done()) load();
  }

  bool done() const { return pair_.piece >= last_; }
  const Tile& tile() const { return tile_; }
  void next() {
    if (!second_ && pair_.i != pair_.j) {
      second_ = true;
      tile_ = {tile_.to, tile_.from, tile_.columns, tile_.rows};
      return;
    }
    second_ = false;
    pair_.next();
    if (!done()) load();
  }

 private:
  void load() {
    const std::int64_t pitch = grid_.split.row_stride;
    const std::int64_t row = grid_.begin(pair_.i);
    const std::int64_t column = grid_.begin(pair_.j);
    Byte* const matrix = data_ + grid_.matrix_offset(pair_.matrix);
    tile_ = {matrix + row * pitch + column * width, matrix + column * pitch + row * width,
             grid_.size(pair_.i), grid_.size(pair_.j)};
  }

  const SwapGrid& grid_;
  Byte* const data_;
  TileWalk pair_;
  const std::int64_t last_;
  Tile tile_{};
  bool second_ = false;
};

/// The rows of all tiles, fetched one after the other.
template <int width>
class Fetched {
 public:
  Fetched(const Tiles<width>& tiles, std::int64_t pitch) : tiles_(tiles), pitch_(pitch) {}

  HWY_INLINE void row() {
    if (tiles_.done()) return;
    const Tile& tile = tiles_.tile();
    const Byte* const from = tile.from + row_ * pitch_;
    const std::int64_t bytes = tile.columns * width;
    for (std::int64_t b = 0; b < bytes; b += 64) __builtin_prefetch(from + b, 0, 2);
    if (reinterpret_cast<std::uintptr_t>(from) % 64 != 0) {
      __builtin_prefetch(from + bytes - 1, 0, 2);
    }
    if (++row_ < tile.rows) return;
    row_ = 0;
    tiles_.next();
  }

 private:
  Tiles<width> tiles_;
  const std::int64_t pitch_;
  std::int64_t row_ = 0;
};

template <int width>
class Swapping {
 public:
  Swapping(const SwapGrid& grid, Byte* data)
      : grid_(grid),
        data_(data),
        pitch_(grid.split.row_stride),
        scratch_(thread_scratch<SwapScratch>(Scratch::moving)) {
    assert(grid.tile == S);
  }

  void run(std::int64_t first, std::int64_t last) {
    const Tiles<width> tiles(grid_, data_, first, last);
    if (grid_.staged) {
      by_copies(tiles);
    } else {
      by_blocks(tiles);
    }
  }

 private:
  static constexpr int V = unit_rows<width>();
  static constexpr int K = unit_columns<width>();
  static constexpr std::int64_t S = plan::swap::tile_side(width);
  static constexpr std::int64_t rows_ahead = lines_ahead / (S * width / 64);

  static bool whole(const Tile& tile) { return tile.rows == S && tile.columns == S; }
  Byte* copy(std::int64_t n) const {
    return scratch_.copies + n % tiles_in_work * copy_bytes(width);
  }

  // Between the rows of a copy: an odd number of lines, which spreads over the sets of the caches.
  static HWY_INLINE std::int64_t copy_pitch(std::int64_t columns) {
    return ((columns * width + 63) / 64 | 1) * 64;
  }

  // ---- all at once, by way of copies ----

  void by_copies(Tiles<width> tiles) const {
    Fetched<width> ahead(tiles, pitch_);
    for (std::int64_t row = 0; row < rows_ahead; ++row) ahead.row();
    // A tile is written when the one after it, which may have been in its place, has been read.
    Tile started[tiles_in_work] = {};
    std::int64_t after_last = 0;
    for (std::int64_t n = 0; after_last < tiles_in_work - 1; ++n) {
      const Tile write = started[(n + 1) % tiles_in_work];
      const Byte* const from = copy(n + 1);
      if (tiles.done()) {
        put(write, from);
        started[n % tiles_in_work] = {};
        ++after_last;
        continue;
      }
      const Tile read = tiles.tile();
      started[n % tiles_in_work] = read;
      if (whole(read) && whole(write)) {
        read_and_write(read, copy(n), S, S, write, from, S, S, ahead);
      } else {
        read_and_write(read, copy(n), read.rows, read.columns, write, from, write.columns,
                       write.rows, ahead);
      }
      tiles.next();
    }
  }

  // Copies a tile of `rows` rows to the side, and writes another of h rows of w elements. Inlined:
  // of whole tiles the compiler knows the sizes.
  HWY_INLINE void read_and_write(const Tile& read, Byte* to, std::int64_t rows,
                                 std::int64_t columns, const Tile& write, const Byte* from,
                                 std::int64_t h, std::int64_t w, Fetched<width>& ahead) const {
    const std::int64_t pitch = copy_pitch(columns);
    const std::int64_t units = units_of(h, w);
    Place place;
    std::int64_t due = 0;
    for (std::int64_t row = 0; row < rows; ++row) {
      ahead.row();
      copy_row(to + row * pitch, read.from + row * pitch_, columns * width);
      for (due += units; due >= rows; due -= rows) put_unit(write, from, h, w, place);
    }
  }

  void put(const Tile& write, const Byte* from) const {
    const std::int64_t units = units_of(write.columns, write.rows);
    Place place;
    for (std::int64_t i = 0; i < units; ++i) {
      put_unit(write, from, write.columns, write.rows, place);
    }
  }

  // What is written next of h rows of w elements.
  struct Place {
    std::int64_t row = 0;
    std::int64_t column = 0;

    HWY_INLINE void next(std::int64_t rows, std::int64_t columns, std::int64_t w) {
      column += columns;
      if (column < w) return;
      column = 0;
      row += rows;
    }
  };

  // Units that cover h rows of w elements, the last ones of a row or column overlapping those
  // before; where none fits, single elements.
  static HWY_INLINE std::int64_t units_of(std::int64_t h, std::int64_t w) {
    return h < K || w < V ? h * w : ceil_div(h, std::int64_t{K}) * ceil_div(w, std::int64_t{V});
  }

  // The copy has w rows of h elements.
  HWY_INLINE void put_unit(const Tile& write, const Byte* copy, std::int64_t h, std::int64_t w,
                           Place& place) const {
    const std::int64_t pitch = copy_pitch(h);
    const std::int64_t to_pitch = pitch_;
    if (h < K || w < V) {
      std::memcpy(write.to + place.row * to_pitch + place.column * width,
                  copy + place.column * pitch + place.row * width, width);
      return place.next(1, 1, w);
    }
    const std::int64_t row = std::min(place.row, h - K);
    const std::int64_t column = std::min(place.column, w - V);
    const Byte* const in = copy + column * pitch + row * width;
    Byte* const out = write.to + row * to_pitch + column * width;
    transpose_unit<width>([=](int i) { return in + i * pitch; },
                          [=](int k) { return out + k * to_pitch; });
    place.next(K, V, w);
  }

  // ---- block by block, in the caches ----

  void by_blocks(Tiles<width> tiles) const {
    for (; !tiles.done(); tiles.next()) {
      const Tile one = tiles.tile();
      if (one.from != one.to) tiles.next();
      if (whole(one)) {
        swap_blocks(one);
      } else {
        exchange(one);
      }
    }
  }

  // Tiles of any size.
  void exchange(const Tile& one) const {
    const Tile other{one.to, one.from, one.columns, one.rows};
    copy_aside(one, copy(0));
    if (one.from != one.to) copy_aside(other, copy(1));
    put(one, copy(0));
    if (one.from != one.to) put(other, copy(1));
  }

  void copy_aside(const Tile& tile, Byte* to) const {
    const std::int64_t pitch = copy_pitch(tile.columns);
    for (std::int64_t row = 0; row < tile.rows; ++row) {
      copy_row(to + row * pitch, tile.from + row * pitch_, tile.columns * width);
    }
  }

  void swap_blocks(const Tile& tile) const {
    const bool diagonal = tile.from == tile.to;
    for (std::int64_t r = 0; r < S; r += V) {
      if (diagonal) transpose_in_place(tile.from + r * pitch_ + r * width);
      for (std::int64_t c = diagonal ? r + V : 0; c < S; c += V) {
        swap_block(tile.from + r * pitch_ + c * width, tile.to + c * pitch_ + r * width);
      }
    }
  }

  HWY_INLINE void swap_block(Byte* one, Byte* other) const {
    alignas(64) Byte stage[V * vector_bytes];
    transpose(one, pitch_, stage, vector_bytes);
    transpose(other, pitch_, one, pitch_);
    for (int i = 0; i < V; ++i) copy_vector(other + i * pitch_, stage + i * vector_bytes);
  }

  HWY_INLINE void transpose_in_place(Byte* block) const {
    alignas(64) Byte stage[V * vector_bytes];
    transpose(block, pitch_, stage, vector_bytes);
    for (int i = 0; i < V; ++i) copy_vector(block + i * pitch_, stage + i * vector_bytes);
  }

  // V x V elements.
  static HWY_INLINE void transpose(const Byte* from, std::int64_t from_pitch, Byte* to,
                                   std::int64_t to_pitch) {
    CT_UNROLL
    for (int c = 0; c < V; c += K) {
      transpose_unit<width>([=](int i) { return from + i * from_pitch + c * width; },
                            [=](int k) { return to + (c + k) * to_pitch; });
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

namespace {

std::int64_t pieces(const plan::SwapConfig& config, const Problem& normal) {
  return SwapGrid(config, normal).pieces();
}

void run(const plan::SwapConfig& config, const Problem& normal, const Buffers& buffers,
         std::int64_t first, std::int64_t last) {
  auto* const data = static_cast<std::uint8_t*>(buffers.dst);
  const SwapGrid grid(config, normal, data);
  if (!grid.split.in_registers()) return swap_elements(grid, data, first, last);
  HWY_DYNAMIC_DISPATCH(run_swap)(grid, data, first, last);
}

}  // namespace

extern const Kernel swap_kernel = kernel_in_pieces<plan::SwapConfig, pieces, run>;

}  // namespace cornerturn::cpu
#endif
