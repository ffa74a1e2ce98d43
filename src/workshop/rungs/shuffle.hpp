// The transposition in registers, without shared memory. Q lanes hold a block of V x V elements
// (V = 16 bytes / element), R rows of 16 bytes each, and transpose it together, twice:
//
//   lane q loads rows R q ... R q + R - 1        of two blocks, 0 and 1, below each other
//   the lanes transpose both blocks              now a lane has columns R q ... of both
//   the two lanes of a block (Q = 2) exchange    lane q has all columns of block q
//   lane q stores these columns                  as 16 bytes of a destination row each
//
// A warp reads eight blocks side by side, whole lines of 128 bytes. It writes pieces of 64 bytes:
// the 4 x 16 bytes of blocks below each other, which the exchange brings into neighbouring lanes.
// The warps of a block together read and write runs of at least 256 bytes.
#pragma once

#include "workshop/rungs/matrix.hpp"
#include "workshop/rungs/transpose_block.hpp"

namespace cornerturn::ladder {

template <class T>
struct ShuffleTile {
  static constexpr int V = vector_of<T>;
  static constexpr int Q = V > 2 ? 2 : 1;  // lanes of a block
  static constexpr int R = V / Q;          // rows, then columns, of a lane
  static constexpr int across = 8;         // blocks of a warp along a source row
  static constexpr int below = 32 / across / Q;
  static constexpr int rows = 2 * below * V;  // of a warp's tile
  static constexpr int cols = across * V;
  static constexpr int warps = 8;  // four below each other, twice side by side
  static constexpr int block_rows = warps / 2 * rows;
  static constexpr int block_cols = 2 * cols;

  struct Place {
    int row, col;
  };
  /// The first element of a lane's block, of the two that it has: (row, col) of the warp's tile.
  CT_HOST_DEVICE static constexpr Place block(int lane, int which) {
    const int down = lane / (across * Q);
    return {(Q == 2 ? 2 * down + which : below * which + down) * V, lane / Q % across * V};
  }

  template <class Ctx>
  CT_DEVICE static void move_blocks(Ctx& ctx, const MatrixArgs<T>& a, const Tile& tile) {
    const int q = ctx.lane() % Q;
    Vec<T, V> v[2][R];
    CT_UNROLL
    for (int n = 0; n < 2; ++n) {  // Load
      const Place at = block(ctx.lane(), n);
      CT_UNROLL
      for (int i = 0; i < R; ++i) {
        const std::int64_t row = tile.row + at.row + q * R + i;
        const std::int64_t col = tile.col + at.col;
        v[n][i] = ctx.load_if(a.inside(row, col), as_vec<V>(a.src + a.src_at(row, col)));
      }
    }
    transpose_block<T>(ctx, v[0]);
    transpose_block<T>(ctx, v[1]);
    if constexpr (Q == 2) exchange<T>(ctx, v[0], v[1]);
    CT_UNROLL
    for (int n = 0; n < 2; ++n) {  // Store
      const Place at = block(ctx.lane(), Q == 2 ? q : n);
      CT_UNROLL
      for (int i = 0; i < R; ++i) {
        const std::int64_t row = tile.row + at.row;
        const std::int64_t col = tile.col + at.col + (Q == 2 ? n : q) * R + i;
        ctx.store_if(a.inside(row, col), as_vec<V>(a.dst + a.dst_at(row, col)), v[n][i]);
      }
    }
  }

  // Rows that begin anywhere: the same tile, one element at a time.
  template <class Ctx>
  CT_DEVICE static void move_elements(Ctx& ctx, const MatrixArgs<T>& a, const Tile& tile) {
    for (int i = ctx.lane(); i < rows * cols; i += 32) {
      const std::int64_t row = tile.row + i % rows;
      const std::int64_t col = tile.col + i / rows;
      const bool inside = a.inside(row, col);
      const T v = ctx.load_if(inside, a.src + a.src_at(row, col));
      ctx.store_if(inside, a.dst + a.dst_at(row, col), v);
    }
  }
};

struct Shuffle {
  static constexpr const char* name = "shuffle";
  static constexpr const char* shows = "registers and warp shuffles, no shared memory";
  static constexpr bool transposes = true;
  template <class T>
  static constexpr bool takes = true;

  template <class T>
  static constexpr Launch launch(const MatrixArgs<T>& a) {
    using Lanes = ShuffleTile<T>;
    return tiled_launch(a, Lanes::block_rows, Lanes::block_cols, {32 * Lanes::warps, 1, 1});
  }

  template <class T, class Ctx>
  CT_DEVICE static void run(Ctx& ctx, const MatrixArgs<T>& a) {
    using Lanes = ShuffleTile<T>;
    Tile tile = tile_of(a, ctx.block_id().x, Lanes::block_rows, Lanes::block_cols);
    tile.row += ctx.warp() / 2 * Lanes::rows;
    tile.col += ctx.warp() % 2 * Lanes::cols;
    if (a.wide) {
      Lanes::move_blocks(ctx, a, tile);
    } else {
      Lanes::move_elements(ctx, a, tile);
    }
  }
};

}  // namespace cornerturn::ladder
