// The corner turned in registers, without shared memory. Q neighbouring lanes hold a block of
// V x V elements (V = 16 bytes / element), R rows of 16 bytes each, and turn it together:
//
//   lane q loads rows R q ... R q + R - 1        as R vectors of V elements
//   the lanes turn the block (turn.hpp)          log2 Q rounds of shuffles
//   lane q stores columns R q ... of the block   as R vectors of V elements, from all V rows
//
// A warp has 32 / Q such blocks side by side, at least two each way, so that every sector of 32
// bytes is read and written whole.
#pragma once

#include "kernels/ladder/matrix.hpp"
#include "kernels/ladder/turn.hpp"

namespace cornerturn::ladder {

template <class T>
struct ShuffleTile {
  static constexpr int V = vector_of<T>;
  static constexpr int Q = sizeof(T) == 1 ? 4 : 2;  // lanes of a block
  static constexpr int R = V / Q;                   // rows, then columns, of a lane
  static constexpr int across = 4;                  // blocks of a warp along a source row
  static constexpr int down = 32 / Q / across;      // and along a destination row
  static constexpr int times = 4 / R;               // so often, below each other: 64 bytes a lane
  static constexpr int rows = down * times * V;     // of a warp's tile
  static constexpr int cols = across * V;
  static constexpr int warps = 8;  // below each other

  struct Place {
    int q, row, col;
  };
  /// Lane q of the block whose first element is (row, col) of the warp's tile.
  CT_HOST_DEVICE static constexpr Place place(int lane, int time) {
    const int block = lane / Q;
    return {lane % Q, (time * down + block / across) * V, block % across * V};
  }

  template <class Ctx>
  CT_DEVICE static void move_blocks(Ctx& ctx, const MatrixArgs<T>& a, const Tile& tile) {
    Vec<T, V> v[times][R];
    CT_UNROLL
    for (int t = 0; t < times; ++t) {  // Load
      const Place at = place(ctx.lane(), t);
      CT_UNROLL
      for (int i = 0; i < R; ++i) {
        const std::int64_t row = tile.row + at.row + at.q * R + i;
        const std::int64_t col = tile.col + at.col;
        v[t][i] = ctx.load_if(a.inside(row, col), as_vec<V>(a.src + a.src_at(row, col)));
      }
    }
    CT_UNROLL
    for (int t = 0; t < times; ++t) turn<T>(ctx, v[t]);
    CT_UNROLL
    for (int t = 0; t < times; ++t) {  // Store
      const Place at = place(ctx.lane(), t);
      CT_UNROLL
      for (int i = 0; i < R; ++i) {
        const std::int64_t row = tile.row + at.row;
        const std::int64_t col = tile.col + at.col + at.q * R + i;
        ctx.store_if(a.inside(row, col), as_vec<V>(a.dst + a.dst_at(row, col)), v[t][i]);
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
    return tiled_launch(a, Lanes::rows * Lanes::warps, Lanes::cols, {32 * Lanes::warps, 1, 1});
  }

  template <class T, class Ctx>
  CT_DEVICE static void run(Ctx& ctx, const MatrixArgs<T>& a) {
    using Lanes = ShuffleTile<T>;
    Tile tile = tile_of(a, ctx.block_id().x, Lanes::rows * Lanes::warps, Lanes::cols);
    tile.row += ctx.warp() * Lanes::rows;
    if (a.wide) {
      Lanes::move_blocks(ctx, a, tile);
    } else {
      Lanes::move_elements(ctx, a, tile);
    }
  }
};

}  // namespace cornerturn::ladder
