// skew for small elements: rows that begin anywhere, turned on the way to shared memory. A lane
// takes four rows by 16 bytes, each row shifted together from two aligned vectors, and lays them
// down turned, as tile does. A vector of the destination is then shifted together from two
// neighbours of its row. Gathering it element by element, as skew does, would take 8 or 16 loads
// whose banks collide, since every row has its own phase.
#pragma once

#include <cstdint>

#include "kernels/skew_args.hpp"

namespace cornerturn::kernels {

inline constexpr int turned_shape_count = 3;
inline constexpr TileShape turned_shapes[turned_shape_count] = {{8, 128}, {8, 256}, {16, 128}};

template <class T, int shape, bool one_mode>
struct SkewTurned {
  static constexpr int size = static_cast<int>(sizeof(T));
  static constexpr int V = 16 / size;
  static constexpr int across = turned_shapes[shape].across;
  static constexpr int columns = across * V;
  static constexpr int down = turned_shapes[shape].down_bytes / size;
  static constexpr int rows = down + 32 / size;
  static constexpr int lanes_down = 4;  // and eight across
  static constexpr int fours = (rows / 4 + lanes_down - 1) / lanes_down * lanes_down;
  static constexpr int threads = across * fours;
  static constexpr int min_blocks = 1024 / threads;
  static_assert(rows % 4 == 0 && threads <= 1024);

  using Map = Padded<columns, rows, V, V>;
  using Starts = SkewStarts<one_mode>;
  static constexpr unsigned tile_bytes = static_cast<unsigned>(Map::required_span_size()) * size;
  static constexpr unsigned shared_bytes = tile_bytes + Starts::bytes(rows, columns);

  template <class Ctx>
  CT_DEVICE static void run(Ctx& ctx, const SkewArgs& a) {
    const auto buffer = ctx.template dynamic_shared<T>();
    const auto tables = cast<std::byte*>(cast<std::uint8_t>(buffer) + tile_bytes);
    const TilePlace tile = tile_place(a, ctx.block_id().x, down, columns);
    const Starts starts = Starts::template make<T>(ctx, a, tile, tables, rows, columns, threads);
    const int rows_left = left_of(a.rows, tile.row, rows);
    const int cols_left = left_of(a.cols, tile.col, columns);
    load(ctx, a, starts, rows_left, cols_left, buffer);
    ctx.barrier();
    store(ctx, starts, rows_left, cols_left, buffer);
    store_row_heads<T>(ctx, tile, starts.dst, rows_left, cols_left, threads,
                       [&](int m, int n) { return buffer + Map::at(m, n); });
  }

  template <class Ctx>
  CT_DEVICE static void load(Ctx& ctx, const SkewArgs& a, const Starts& starts, int rows_left,
                             int cols_left, SharedPointer<T> buffer) {
    const int lane = (thread_of(ctx) % 32);
    constexpr int warps_across = across / 8;
    const int vector = lane % 8 + (thread_of(ctx) / 32) % warps_across * 8;
    const int four = 4 * (lane / 8 + (thread_of(ctx) / 32) / warps_across * lanes_down);
    const Span span{a.src + a.src_low, a.src + a.src_high};
    const bool in_columns = vector * V < cols_left;
    const std::byte* from[4];
    bool whole = true;
    const int row = fours * 4 == rows ? four : four % rows;
    std::byte* begin = starts.src.at(ctx, row);
    CT_UNROLL
    for (int i = 0; i < 4; ++i) {
      if (i > 0) begin = starts.src.after(ctx, begin, row + i);
      from[i] = begin + vector * 16;
      const bool active = in_columns && four + i < rows_left;
      whole = whole && (!active || span.has_vectors(from[i]));
    }
    Words v[4];
    if (whole) {
      VectorPair pair[4];
      CT_UNROLL
      for (int i = 0; i < 4; ++i) {
        pair[i] = VectorPair::load_if(ctx, in_columns && four + i < rows_left, from[i]);
      }
      CT_UNROLL
      for (int i = 0; i < 4; ++i) {
        v[i] = funnel<size>(pair[i].low, pair[i].high, static_cast<unsigned>(phase_of(from[i])));
      }
    } else {  // Next to an end of the source
      CT_UNROLL
      for (int i = 0; i < 4; ++i) {
        const bool active = in_columns && four + i < rows_left;
        const int phase = phase_of(from[i]);
        const Words low = load_inside<T>(ctx, active, from[i] - phase, span);
        const Words high = load_inside<T>(ctx, active && phase != 0, from[i] - phase + 16, span);
        v[i] = funnel<size>(low, high, static_cast<unsigned>(phase));
      }
    }
    if (fours * 4 == rows || four < rows) put_turned<T, Map>(ctx, v, vector * V, four, buffer);
  }

  template <class Ctx>
  CT_DEVICE static void store(Ctx& ctx, const Starts& starts, int rows_left, int cols_left,
                              SharedPointer<T> buffer) {
    constexpr int of_row = down / V;  // vectors
    static_assert(threads % of_row == 0);
    constexpr int step = threads / of_row;
    const int vector = thread_of(ctx) % of_row * V;
    CT_PARTLY_UNROLL
    for (int m = thread_of(ctx) / of_row; m < cols_left; m += step) {
      std::byte* const row = starts.dst.at(ctx, m);
      const int n = elements_to_sector<T>(row) + vector;
      const int left = rows_left - n;
      const int aligned = n & -V;
      const auto at = cast<Words>(buffer + Map::at(m, aligned));
      const auto low = ctx.load_if(left > 0, at);
      const auto high = ctx.load_if(left > 0 && n != aligned, at + 1);
      const Words value = funnel<size>(low, high, static_cast<unsigned>(n - aligned) * size);
      std::byte* const to = row + n * size;
      ctx.store_if(left >= V, reinterpret_cast<Words*>(to), value);
      if (left > 0 && left < V) store_elements<T>(ctx, to, value, 0, left * size);
    }
  }
};

}  // namespace cornerturn::kernels
