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
// Where a tile has whole rows that follow each other without a gap, no sector is left for edges
// (skew_joints.hpp).
//
// Rows lie `pitch` bytes apart, and 16 bytes more after every V rows: neighbouring lanes, V rows
// apart, then read from eight different places of 16 bytes.
#pragma once

#include <bit>
#include <cstdint>
#include <utility>

#include "kernels/skew_args.hpp"
#include "kernels/skew_joints.hpp"
#include "kernels/skew_registers.hpp"

namespace cornerturn::kernels {

/// Columns are bytes of a source row, down is bytes of a destination row.
struct SkewShape {
  int column_bytes;
  int down_bytes;
  int threads;
};
/// By element size: 2, 4, 8 and 16 bytes; then by choice. Single bytes are transposed in registers.
inline constexpr int skew_shape_count = 3;
inline constexpr int small_skew_shape = 2;  ///< for few tiles of 4 bytes
inline constexpr SkewShape skew_shapes[4][skew_shape_count] = {
    {{256, 256, 256}, {128, 128, 256}, {}},
    {{256, 256, 256}, {256, 512, 256}, {128, 128, 128}},
    {{256, 512, 256}, {}, {}},
    {{256, 256, 128}, {256, 512, 256}, {}},
};

constexpr bool has_skew_shape(int shape, int element_bytes) {
  if (element_bytes == 8) return shape == 0;
  return element_bytes > 1 && (shape != small_skew_shape || element_bytes == 4);
}

template <class T, int shape_number, bool one_mode>
struct Skew {
  static constexpr int size = static_cast<int>(sizeof(T));
  static constexpr int V = 16 / size;
  static constexpr SkewShape shape =
      skew_shapes[std::countr_zero(static_cast<unsigned>(size)) - 1][shape_number];
  static constexpr int threads = shape.threads;
  // As measured: with fewer registers more tiles are on their way.
  static constexpr int min_blocks = (size == 2 && one_mode ? 1280 : 1024) / threads;
  // As measured: through the L1 where tiles leave much of an SM's memory to it, else around it.
  static constexpr bool through_l1 = size >= 8;
  static constexpr int columns = shape.column_bytes / size;
  static constexpr int down = shape.down_bytes / size;
  static constexpr int rows = down + 32 / size;
  static constexpr int vectors = shape.column_bytes / 16;  // of a row, and one more for its phase
  static constexpr int pitch = shape.column_bytes + 16;
  static constexpr int rows_bytes = rows * pitch + rows / V * 16;
  using Starts = SkewStarts<one_mode>;
  static constexpr unsigned tables_at = rows_bytes + (rows * 4 + 15) / 16 * 16;
  static constexpr unsigned shared_bytes = tables_at + Starts::bytes(rows, columns);

  /// Where row n begins, without its phase.
  CT_HOST_DEVICE static constexpr int row_at(int n) { return n * pitch + n / V * 16; }

  template <class Ctx>
  CT_DEVICE static void run(Ctx& ctx, const SkewArgs& a) {
    const auto buffer = ctx.template dynamic_shared<std::uint8_t>();
    const auto at = cast<std::uint32_t>(buffer + rows_bytes);
    const TilePlace tile = tile_place(a, ctx.block_id().x, down, columns);
    const Starts starts = Starts::template make<T, T>(
        ctx, a, tile, cast<std::byte*>(buffer + tables_at), rows, columns, threads);
    const int rows_left = left_of(a.matrix.rows, tile.row, rows);
    const int cols_left = left_of(a.matrix.cols, tile.col, columns);
    load(ctx, a, starts.src, rows_left, cols_left, buffer, at);
    ctx.commit_async();
    prefetch_rows<T, threads>(ctx, a, tile, down + of_sector<T>, starts.dst, cols_left);
    ctx.template wait_async<0>();
    ctx.barrier();
    store(ctx, a, starts.dst, rows_left, cols_left, buffer, at);
    const auto element_at = [&](bool active, int m, int n) {
      const auto row = cast<T>(buffer + ctx.load_if(active, at + n));
      return ctx.load_if(active, row + m);
    };
    if (!a.whole_rows) {
      const auto word_at = [&](bool active, int m, int n) {
        return word_of_elements<T>(element_at, active, m, n);
      };
      return store_edges<T, threads, down>(ctx, a, tile, starts.dst, cols_left, element_at,
                                           word_at);
    }
    const auto joint_at = [&](int m, int n) {
      T v[V];
      CT_UNROLL
      for (int k = 0; k < V; ++k) {
        const bool before = n + k < 0;
        v[k] = element_at(true, before ? m - 1 : m, before ? n + k + rows_left : n + k);
      }
      return joined(v);
    };
    store_joints<T, threads>(ctx, starts.dst.at(ctx, 0), rows_left, cols_left, joint_at,
                             element_at);
  }

  template <class Ctx>
  CT_DEVICE static void load(Ctx& ctx, const SkewArgs& a, const RowStarts<one_mode>& starts,
                             int rows_left, int cols_left, SharedPointer<std::uint8_t> buffer,
                             SharedPointer<std::uint32_t> at) {
    const Span span{a.src + a.src_low, a.src + a.src_high};
    const int length = cols_left * size;
    const int v = thread_of(ctx) % vectors * 16;
    constexpr int step = threads / vectors;  // rows
    static_assert(threads % vectors == 0);
    CT_NO_UNROLL
    for (int n = thread_of(ctx) / vectors; n < rows_left; n += step) {
      const std::byte* const begin = starts.at(ctx, n);
      const int phase = phase_of(begin);
      const std::byte* const from = begin - phase + v;
      const auto to = buffer + (row_at(n) + v);
      if (v < phase + length) bring(ctx, from, span, to);
      if (v == 0) {
        ctx.store(at + n, static_cast<std::uint32_t>(row_at(n) + phase));
        // The one more: by the lane that has the first.
        if (phase + length > shape.column_bytes) {
          bring(ctx, from + shape.column_bytes, span, to + shape.column_bytes);
        }
      }
    }
  }

  // One aligned vector, which only at the ends of the source is not read as a whole.
  template <class Ctx>
  CT_DEVICE static void bring(Ctx& ctx, const std::byte* from, const Span& span,
                              SharedPointer<std::uint8_t> to) {
    if (span.holds(from)) {
      ctx.copy_line_async_if(true, through_l1, cast<Words>(to),
                             reinterpret_cast<const Words*>(from));
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
  CT_DEVICE static void store(Ctx& ctx, const SkewArgs& a, const RowStarts<one_mode>& starts,
                              int rows_left, int cols_left, SharedPointer<std::uint8_t> buffer,
                              SharedPointer<std::uint32_t> at) {
    const int lane = (thread_of(ctx) % 32);
    constexpr int warps_down = of_row / lanes_down;
    const int vector = lane % lanes_down + (thread_of(ctx) / 32) % warps_down * lanes_down;
    const int first = lane / lanes_down + (thread_of(ctx) / 32) / warps_down * (32 / lanes_down);
    SharedPointer<T> from[V];
    if constexpr (one_mode) {
      // Columns so far apart begin at the same phase: the same rows serve all of them.
      if (a.matrix.col_step * at_once % 32 == 0) {
        if (first >= cols_left) return;
        std::byte* to = starts.at(ctx, first);
        const int before = elements_to_sector<T>(to);
        if (vector * V >= in_whole_sectors<T>(rows_left - before, down)) return;
        const int n = before + vector * V;
        to += n * size;
        rows_from(ctx, from, n, first, buffer, at);
        const std::int64_t step = a.matrix.col_step * at_once;
        CT_PARTLY_UNROLL
        for (int m = first; m < cols_left; m += at_once) {
          T v[V];
          CT_UNROLL
          for (int k = 0; k < V; ++k) v[k] = ctx.load(from[k] + (m - first));
          ctx.store(reinterpret_cast<Words*>(to), joined(v));
          to += step;
        }
        return;
      }
    }
    int known = -1;  // the first row that `from` is of
    for (int m = first; m < cols_left; m += at_once) {
      std::byte* const row = starts.at(ctx, m);
      const int before = elements_to_sector<T>(row);
      if (vector * V >= in_whole_sectors<T>(rows_left - before, down)) continue;
      const int n = before + vector * V;
      if (n != known) rows_from(ctx, from, n, 0, buffer, at);
      known = n;
      T v[V];
      CT_UNROLL
      for (int k = 0; k < V; ++k) v[k] = ctx.load(from[k] + m);
      ctx.store(reinterpret_cast<Words*>(row + n * size), joined(v));
    }
  }

  // Where V rows, from the nth on, have their element of a column.
  template <class Ctx>
  CT_DEVICE static void rows_from(Ctx& ctx, SharedPointer<T> (&from)[V], int n, int column,
                                  SharedPointer<std::uint8_t> buffer,
                                  SharedPointer<std::uint32_t> at) {
    CT_UNROLL
    for (int k = 0; k < V; ++k) from[k] = cast<T>(buffer + ctx.load(at + n + k)) + column;
  }
};

/// `shape`: of those above, then of those that transpose in registers.
template <class Visit>
void dispatch(const SkewArgs& a, Visit&& visit) {
  const bool one_mode = a.row_modes.count == 1 && a.col_modes.count == 1;
  const auto in_registers = [&]<class Change, int shape>() {
    one_mode ? visit.template operator()<SkewInRegisters<Change, shape, true>>()
             : visit.template operator()<SkewInRegisters<Change, shape, false>>();
  };
  if (a.values.converts) {
    with_common_cast(a.values.src, a.values.dst, [&]<class Change>() {
      constexpr auto& shapes = changing_skew_shapes;
      a.shape - skew_shape_count == shapes[0]
          ? in_registers.template operator()<Change, shapes[0]>()
          : in_registers.template operator()<Change, shapes[1]>();
    });
    return;
  }
  with_element(a.element_bytes, [&]<class T>(T) {
    const auto gathered = [&]<int shape>() {
      one_mode ? visit.template operator()<Skew<T, shape, true>>()
               : visit.template operator()<Skew<T, shape, false>>();
    };
    const auto with_shape = [&]<int shape>() {
      if constexpr (has_skew_shape(shape, sizeof(T))) {
        if (a.shape == shape) gathered.template operator()<shape>();
      }
    };
    const auto with_register_shape = [&]<int shape>() {
      if constexpr (has_skew_register_shape(shape, sizeof(T))) {
        if (a.shape == skew_shape_count + shape) in_registers.template operator()<Move<T>, shape>();
      }
    };
    [&]<int... shape>(std::integer_sequence<int, shape...>) {
      (with_shape.template operator()<shape>(), ...);
    }
    (std::make_integer_sequence<int, skew_shape_count>());
    [&]<int... shape>(std::integer_sequence<int, shape...>) {
      (with_register_shape.template operator()<shape>(), ...);
    }
    (std::make_integer_sequence<int, skew_register_shape_count>());
  });
}

}  // namespace cornerturn::kernels
