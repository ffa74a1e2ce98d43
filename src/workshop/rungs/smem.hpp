// A tile of 32 x 32 elements through shared memory: rows come in, columns go out, and both ways a
// warp touches 32 neighbouring elements of global memory. 32 x 8 threads take four rows each.
//
//   global rows -> tile rows          tile columns -> global rows
//
// What differs between the rungs of this family is only where the element (row, col) lies:
//
//   smem          row * 32 + col                 a column is one bank: 32 wavefronts
//   smem_pad      row * 33 + col                 a column is 32 banks, a column of the tile is lost
//   smem_rotate   row * 32 + (row + col) % 32    a column is 32 banks, nothing is lost
#pragma once

#include "maps/proofs.hpp"
#include "maps/tile_maps.hpp"
#include "workshop/rungs/matrix.hpp"

namespace cornerturn::ladder {

template <class Map>
struct ScalarTile {
  static constexpr bool transposes = true;
  template <class T>
  static constexpr bool takes = sizeof(T) == 4;
  template <class T>
  using SharedMap = Map;

  static constexpr int side = 32;
  static constexpr int height = 8;
  static constexpr int span = static_cast<int>(Map::required_span_size());

  template <class T>
  static constexpr Launch launch(const MatrixArgs<T>& a) {
    return tiled_launch(a, side, side, {side, height, 1});
  }

  template <class T, class Ctx>
  CT_DEVICE static void run(Ctx& ctx, const MatrixArgs<T>& a) {
    const Tile tile = tile_of(a, ctx.block_id().x, side, side);
    const bool full = a.inside(tile.row + side - 1, tile.col + side - 1);
    if (full) {
      move<true>(ctx, a, tile);
    } else {
      move<false>(ctx, a, tile);
    }
  }

  template <bool full, class T, class Ctx>
  CT_DEVICE static void move(Ctx& ctx, const MatrixArgs<T>& a, const Tile& tile) {
    const auto buffer = ctx.template shared<T, span>();
    const int x = static_cast<int>(ctx.thread_id().x);
    const int y = static_cast<int>(ctx.thread_id().y);
    CT_UNROLL
    for (int i = y; i < side; i += height) {  // Load: x runs along a source row
      const bool inside = full || a.inside(tile.row + i, tile.col + x);
      const T v = ctx.load_if(inside, a.src + a.src_at(tile.row + i, tile.col + x));
      ctx.store_if(inside, buffer + Map::at(i, x), v);
    }
    ctx.barrier();
    CT_UNROLL
    for (int i = y; i < side; i += height) {  // Store: x runs along a destination row
      const bool inside = full || a.inside(tile.row + x, tile.col + i);
      const T v = ctx.load_if(inside, buffer + Map::at(x, i));
      ctx.store_if(inside, a.dst + a.dst_at(tile.row + x, tile.col + i), v);
    }
  }
};

struct Smem : ScalarTile<RowMajor<32, 32>> {
  static constexpr const char* name = "smem";
  static constexpr const char* shows = "a 32 x 32 tile in shared memory, stored as it comes";
};

struct SmemPad : ScalarTile<Padded<32, 32, 1>> {
  static constexpr const char* name = "smem_pad";
  static constexpr const char* shows = "rows of 33: padding instead of conflicts";
};

struct SmemRotate : ScalarTile<Rotated<32, 32>> {
  static constexpr const char* name = "smem_rotate";
  static constexpr const char* shows = "each row rotated by its number: no conflicts, no padding";
};

static_assert(conflict_free<std::uint32_t, Padded<32, 32, 1>, Access::columns>);
static_assert(conflict_free<std::uint32_t, Rotated<32, 32>, Access::columns>);

}  // namespace cornerturn::ladder
