// skew: like tile, for rows that begin at any address. Rows of the source go to shared memory as
// whole aligned vectors, at whatever phase they have; a lane gathers 16 bytes of a destination row,
// an element from each of V rows. Every destination row is written from its own first whole sector
// on to that of the next tile, in aligned vectors: the tile is a parallelogram, and needs rows for
// one more sector than it writes.
//
//   destination   |sector|sector|sector|      a tile's share of three rows,
//   row m         ...####################     each begins at a sector of its own
//   row m + 1     .####################..
//   row m + 2     ....####################
//
// Rows lie `pitch` bytes apart, and 16 bytes more after every V rows: neighbouring lanes, V rows
// apart, then read from eight different places of 16 bytes.
#pragma once

#include <cstdint>

#include "kernels/skew_args.hpp"
#include "kernels/skew_turned.hpp"

namespace cornerturn::kernels {

/// Columns are bytes of a source row, down is bytes of a destination row.
struct SkewShape {
  int column_bytes;
  int down_bytes;
  int threads;
};
/// By element size: 1, 2, 4, 8 and 16 bytes; then by choice.
inline constexpr int skew_shape_count = 3;
inline constexpr SkewShape skew_shapes[5][skew_shape_count] = {
    {{128, 128, 256}, {256, 256, 512}, {128, 256, 256}},
    {{256, 256, 256}, {128, 128, 256}, {128, 256, 256}},
    {{512, 512, 512}, {256, 256, 256}, {256, 512, 256}},
    {{1024, 512, 512}, {512, 512, 256}, {256, 512, 256}},
    {{512, 512, 256}, {256, 256, 128}, {256, 512, 256}},
};

template <class T, int shape_number>
struct Skew {
  static constexpr int size = static_cast<int>(sizeof(T));
  static constexpr int V = 16 / size;
  static constexpr SkewShape shape = skew_shapes[size == 1   ? 0
                                                 : size == 2 ? 1
                                                 : size == 4 ? 2
                                                 : size == 8 ? 3
                                                             : 4][shape_number];
  static constexpr int threads = shape.threads;
  static constexpr int min_blocks = 1024 / threads;
  static constexpr int columns = shape.column_bytes / size;
  static constexpr int down = shape.down_bytes / size;
  static constexpr int sector = 32 / size;
  static constexpr int rows = down + sector;
  static constexpr int vectors = shape.column_bytes / 16;  // of a row, and one more for its phase
  static constexpr int pitch = shape.column_bytes + 16;
  static constexpr int rows_bytes = rows * pitch + rows / V * 16;
  static constexpr unsigned shared_bytes = rows_bytes + rows * 4;

  /// Where row n begins, without its phase.
  CT_HOST_DEVICE static constexpr int row_at(int n) { return n * pitch + n / V * 16; }

  template <class Ctx>
  CT_DEVICE static void run(Ctx& ctx, const SkewArgs& a) {
    const auto buffer = ctx.template dynamic_shared<std::uint8_t>();
    const auto starts = cast<std::uint32_t>(buffer + rows_bytes);
    const TilePlace tile = tile_place(a, ctx.block_id().x, down, columns);
    load(ctx, a, tile, buffer, starts);
    ctx.commit_async();
    ctx.template wait_async<0>();
    ctx.barrier();
    store(ctx, a, tile, buffer, starts);
    store_row_heads<T, columns>(ctx, a, tile, threads, [&](int m, int n) {
      return cast<T>(buffer + (ctx.load(starts + n) + static_cast<unsigned>(m * size)));
    });
  }

  template <class Ctx>
  CT_DEVICE static void load(Ctx& ctx, const SkewArgs& a, const TilePlace& tile,
                             SharedPointer<std::uint8_t> buffer,
                             SharedPointer<std::uint32_t> starts) {
    const Span span{a.src + a.src_low, a.src + a.src_high};
    const std::byte* const src = a.src + tile.rest.src + static_cast<std::int64_t>(tile.col) * size;
    const std::uint32_t left = a.cols.count - tile.col;
    const int length = static_cast<int>(left < columns ? left : columns) * size;
    CT_UNROLL
    for (int first = 0; first < rows * vectors; first += threads) {
      const int i = first + ctx.thread_index();
      const int n = i / vectors;
      const std::uint32_t row = tile.row + static_cast<std::uint32_t>(n);
      if ((rows * vectors % threads != 0 && n >= rows) || row >= a.rows.count) break;
      const std::byte* const begin = src + a.rows.at(row);
      const int phase = phase_of(begin);
      if (i % vectors == 0) {
        ctx.store(starts + n, static_cast<std::uint32_t>(row_at(n) + phase));
        // The one more: by the lane that has the first.
        if (phase + length > shape.column_bytes) {
          bring(ctx, begin - phase + shape.column_bytes, span,
                buffer + (row_at(n) + shape.column_bytes));
        }
      }
      const int at = i % vectors * 16;
      if (at < phase + length) bring(ctx, begin - phase + at, span, buffer + (row_at(n) + at));
    }
  }

  // One aligned vector, which only at the ends of the source is not read as a whole.
  template <class Ctx>
  CT_DEVICE static void bring(Ctx& ctx, const std::byte* from, const Span& span,
                              SharedPointer<std::uint8_t> to) {
    if (span.holds(from)) {
      ctx.copy_async(cast<Words>(to), reinterpret_cast<const Words*>(from));
    } else {
      ctx.store(cast<Words>(to), load_inside<T>(ctx, true, from, span));
    }
  }

  static constexpr int lanes_down = 8;  // neighbours in a destination row
  static constexpr int of_row = down / V;
  static constexpr int at_once = threads / of_row;  // columns
  static_assert(of_row % lanes_down == 0 && at_once % (32 / lanes_down) == 0);
  static_assert(columns % at_once == 0);

  template <class Ctx>
  CT_DEVICE static void store(Ctx& ctx, const SkewArgs& a, const TilePlace& tile,
                              SharedPointer<std::uint8_t> buffer,
                              SharedPointer<std::uint32_t> starts) {
    std::byte* const dst = a.dst + tile.rest.dst + static_cast<std::int64_t>(tile.row) * size;
    const int lane = ctx.lane();
    constexpr int warps_down = of_row / lanes_down;
    const int vector = lane % lanes_down + ctx.warp() % warps_down * lanes_down;
    const int first_column = lane / lanes_down + ctx.warp() / warps_down * (32 / lanes_down);
    const auto rows_left =
        static_cast<int>(a.rows.count - tile.row < 2 * rows ? a.rows.count - tile.row : 2 * rows);
    std::uint32_t at[V] = {};
    int known = -1;  // the first row that `at` is of
    for (int m = first_column; m < columns; m += at_once) {
      const std::uint32_t col = tile.col + static_cast<std::uint32_t>(m);
      if (col >= a.cols.count) break;
      std::byte* const row = dst + a.cols.at(col);
      const int n = elements_to_sector<T>(row) + vector * V;
      const int left = rows_left - n;
      if (left <= 0) continue;
      if (n != known) {
        CT_UNROLL
        for (int k = 0; k < V; ++k) at[k] = ctx.load_if(k < left, starts + n + k);
        known = n;
      }
      T v[V];
      CT_UNROLL
      for (int k = 0; k < V; ++k) {
        v[k] = ctx.load_if(k < left, cast<T>(buffer + (at[k] + static_cast<unsigned>(m * size))));
      }
      const Words value = joined(v);
      std::byte* const to = row + n * size;
      ctx.store_if(left >= V, reinterpret_cast<Words*>(to), value);
      if (left < V) store_part<size>(ctx, to, value, 0, left * size);
    }
  }
};

template <class Visit>
void dispatch(const SkewArgs& a, Visit&& visit) {
  with_element(a.element_bytes, [&]<class T>(T) {
    switch (a.shape) {
      case 0:
        return visit.template operator()<Skew<T, 0>>();
      case 1:
        return visit.template operator()<Skew<T, 1>>();
      case 2:
        return visit.template operator()<Skew<T, 2>>();
      default:
        break;
    }
    if constexpr (sizeof(T) <= 4) {
      switch (a.shape) {
        case 3:
          return visit.template operator()<SkewTurned<T, 0>>();
        case 4:
          return visit.template operator()<SkewTurned<T, 1>>();
        default:
          return visit.template operator()<SkewTurned<T, 2>>();
      }
    }
  });
}

}  // namespace cornerturn::kernels
