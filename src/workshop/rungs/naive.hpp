// One thread, one element, no staging. A warp that reads along a row writes down a column: each of
// its elements lands in another sector of 32 bytes, of which it fills four bytes.
//
//   naive_read    lanes along a source row: reads are whole sectors, writes are scattered
//   naive_write   lanes along a destination row: the other way round
#pragma once

#include "workshop/rungs/matrix.hpp"

namespace cornerturn::ladder {

template <int side>
struct NaiveRead {
  static constexpr const char* name = side == 8    ? "naive_read_8"
                                      : side == 16 ? "naive_read"
                                                   : "naive_read_32";
  static constexpr const char* shows = "rows read, columns written, one element a thread";
  static constexpr bool transposes = true;
  template <class T>
  static constexpr bool takes = sizeof(T) == 4;

  template <class T>
  static constexpr Launch launch(const MatrixArgs<T>& a) {
    return tiled_launch(a, side, side, {side, side, 1});
  }

  template <class T, class Ctx>
  CT_DEVICE static void run(Ctx& ctx, const MatrixArgs<T>& a) {
    const Tile tile = tile_of(a, ctx.block_id().x, side, side);
    const std::int64_t row = tile.row + ctx.thread_id().y;
    const std::int64_t col = tile.col + ctx.thread_id().x;
    const bool inside = a.inside(row, col);
    const T v = ctx.load_if(inside, a.src + a.src_at(row, col));
    ctx.store_if(inside, a.dst + a.dst_at(row, col), v);
  }
};

struct NaiveWrite {
  static constexpr const char* name = "naive_write";
  static constexpr const char* shows = "columns read, rows written, one element a thread";
  static constexpr bool transposes = true;
  template <class T>
  static constexpr bool takes = sizeof(T) == 4;

  static constexpr int side = 16;

  template <class T>
  static constexpr Launch launch(const MatrixArgs<T>& a) {
    return tiled_launch(a, side, side, {side, side, 1});
  }

  template <class T, class Ctx>
  CT_DEVICE static void run(Ctx& ctx, const MatrixArgs<T>& a) {
    const Tile tile = tile_of(a, ctx.block_id().x, side, side);
    const std::int64_t row = tile.row + ctx.thread_id().x;
    const std::int64_t col = tile.col + ctx.thread_id().y;
    const bool inside = a.inside(row, col);
    const T v = ctx.load_if(inside, a.src + a.src_at(row, col));
    ctx.store_if(inside, a.dst + a.dst_at(row, col), v);
  }
};

}  // namespace cornerturn::ladder
