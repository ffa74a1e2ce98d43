// The corner turned in registers, without shared memory. Q neighbouring blocks of R rows make a
// block of V x V elements (V = Q R = 16 bytes / element), held by Q lanes with R vectors each.
//
//   lane q loads rows R q ... R q + R - 1        as R vectors of V elements
//   lane q turns its R x V into V pieces         piece c: column c, the lane's R rows
//   the lanes exchange pieces                    log2 Q shuffles of half the pieces
//   lane q holds columns R q ... of the block    as R vectors of V elements, from all V rows
//
// A warp has 32 / Q such blocks side by side, at least two each way, so that every sector of 32
// bytes is read and written whole.
#pragma once

#include "kernels/ladder/matrix.hpp"

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

  using Piece = Vec<T, R>;

  struct Place {
    int q, row, col;
  };
  /// Lane q of the block whose first element is (row, col) of the warp's tile.
  CT_HOST_DEVICE static constexpr Place place(int lane, int time) {
    const int block = lane / Q;
    return {lane % Q, (time * down + block / across) * V, block % across * V};
  }

  // Afterwards piece q' R + j of lane q is what piece q R + j of lane q' was.
  template <class Ctx>
  CT_DEVICE static void exchange(Ctx& ctx, int q, Piece (&piece)[V]) {
    CT_UNROLL
    for (int bit = 1; bit < Q; bit *= 2) {
      const bool upper = (q & bit) != 0;
      CT_UNROLL
      for (int low = 0; low < Q; ++low) {
        if ((low & bit) != 0) continue;
        CT_UNROLL
        for (int j = 0; j < R; ++j) {
          Piece& here = piece[low * R + j];
          Piece& there = piece[(low | bit) * R + j];
          const Piece got = ctx.shuffle_xor(upper ? here : there, bit);
          here = upper ? got : here;
          there = upper ? there : got;
        }
      }
    }
  }

  template <class Ctx>
  CT_DEVICE static void move(Ctx& ctx, const MatrixArgs<T>& a, const Tile& tile) {
    Vec<T, V> v[times][R] = {};
    CT_UNROLL
    for (int t = 0; t < times; ++t) {  // Load
      const Place at = place(ctx.lane(), t);
      const std::int64_t row = tile.row + at.row + at.q * R;
      const std::int64_t col = tile.col + at.col;
      CT_UNROLL
      for (int i = 0; i < R; ++i) {
        if (a.wide) {
          v[t][i] = ctx.load_if(a.inside(row + i, col), as_vec<V>(a.src + a.src_at(row + i, col)));
        } else {
          CT_UNROLL
          for (int j = 0; j < V; ++j) {
            const bool inside = a.inside(row + i, col + j);
            v[t][i][j] = ctx.load_if(inside, a.src + a.src_at(row + i, col + j));
          }
        }
      }
    }
    CT_UNROLL
    for (int t = 0; t < times; ++t) {
      Piece piece[V];
      CT_UNROLL
      for (int c = 0; c < V; ++c) {
        CT_UNROLL
        for (int i = 0; i < R; ++i) piece[c][i] = v[t][i][c];
      }
      exchange(ctx, ctx.lane() % Q, piece);
      CT_UNROLL
      for (int j = 0; j < R; ++j) {
        CT_UNROLL
        for (int r = 0; r < V; ++r) v[t][j][r] = piece[r / R * R + j][r % R];
      }
    }
    CT_UNROLL
    for (int t = 0; t < times; ++t) {  // Store
      const Place at = place(ctx.lane(), t);
      const std::int64_t row = tile.row + at.row;
      const std::int64_t col = tile.col + at.col + at.q * R;
      CT_UNROLL
      for (int j = 0; j < R; ++j) {
        if (a.wide) {
          ctx.store_if(a.inside(row, col + j), as_vec<V>(a.dst + a.dst_at(row, col + j)), v[t][j]);
        } else {
          CT_UNROLL
          for (int i = 0; i < V; ++i) {
            const bool inside = a.inside(row + i, col + j);
            ctx.store_if(inside, a.dst + a.dst_at(row + i, col + j), v[t][j][i]);
          }
        }
      }
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
    Lanes::move(ctx, a, tile);
  }
};

}  // namespace cornerturn::ladder
