// skew for small elements: rows that begin anywhere, turned on the way to shared memory. A lane
// takes four rows by 16 bytes, each row shifted together from two aligned vectors, and lays them
// down turned, as tile does. A vector of the destination is then shifted together from two
// neighbours of its row. Gathering it element by element, as skew does, would take 8 or 16 loads
// whose banks collide, since every row has its own phase.
#pragma once

#include <cstdint>

#include "kernels/skew_args.hpp"

namespace cornerturn::kernels {

/// Across: 16-byte vectors of a source row. Down: bytes of a destination row.
inline constexpr int turned_shape_count = 3;
inline constexpr TileShape turned_shapes[turned_shape_count] = {{8, 128}, {8, 256}, {16, 128}};

template <class T, int shape>
struct SkewTurned {
  static constexpr int size = static_cast<int>(sizeof(T));
  static constexpr int V = 16 / size;
  static constexpr int across = turned_shapes[shape].across;
  static constexpr int columns = across * V;
  static constexpr int down = turned_shapes[shape].down_bytes / size;
  static constexpr int sector = 32 / size;
  static constexpr int rows = down + sector;
  static constexpr int lanes_down = 4;  // and eight across
  static constexpr int fours = (rows / 4 + lanes_down - 1) / lanes_down * lanes_down;
  static constexpr int threads = across * fours;
  static constexpr int min_blocks = 1024 / threads;
  static_assert(rows % 4 == 0 && threads <= 1024);

  using Map = Padded<columns, rows, V, V>;
  static constexpr unsigned shared_bytes = static_cast<unsigned>(Map::required_span_size()) * size;

  template <class Ctx>
  CT_DEVICE static void run(Ctx& ctx, const SkewArgs& a) {
    const auto buffer = ctx.template dynamic_shared<T>();
    const TilePlace tile = tile_place(a, ctx.block_id().x, down, columns);
    load(ctx, a, tile, buffer);
    ctx.barrier();
    store(ctx, a, tile, buffer);
    store_row_heads<T, columns>(ctx, a, tile, threads,
                                [&](int m, int n) { return buffer + Map::at(m, n); });
  }

  template <class Ctx>
  CT_DEVICE static void load(Ctx& ctx, const SkewArgs& a, const TilePlace& tile,
                             SharedPointer<T> buffer) {
    const int lane = ctx.lane();
    constexpr int warps_across = across / 8;
    const int vector = lane % 8 + ctx.warp() % warps_across * 8;
    const int four = 4 * (lane / 8 + ctx.warp() / warps_across * lanes_down);
    const std::uint32_t col = tile.col + static_cast<std::uint32_t>(vector * V);
    const Span span{a.src + a.src_low, a.src + a.src_high};
    const std::byte* const src = a.src + tile.rest.src + static_cast<std::int64_t>(col) * size;
    const std::byte* from[4];
    bool whole = true;
    bool active[4];
    CT_UNROLL
    for (int i = 0; i < 4; ++i) {
      const std::uint32_t row = tile.row + static_cast<std::uint32_t>(four + i);
      active[i] = col < a.cols.count && row < a.rows.count;
      from[i] = src + (active[i] ? a.rows.at(row) : 0);
      whole = whole && (!active[i] || span.has_vectors(from[i]));
    }
    Words v[4];
    if (whole) {
      VectorPair pair[4];
      CT_UNROLL
      for (int i = 0; i < 4; ++i) pair[i] = VectorPair::load_if(ctx, active[i], from[i]);
      CT_UNROLL
      for (int i = 0; i < 4; ++i) {
        v[i] = funnel<size>(pair[i].low, pair[i].high, static_cast<unsigned>(phase_of(from[i])));
      }
    } else {  // Next to an end of the source
      CT_UNROLL
      for (int i = 0; i < 4; ++i) {
        const int phase = phase_of(from[i]);
        const Words low = load_inside<T>(ctx, active[i], from[i] - phase, span);
        const Words high = load_inside<T>(ctx, active[i] && phase != 0, from[i] - phase + 16, span);
        v[i] = funnel<size>(low, high, static_cast<unsigned>(phase));
      }
    }
    if (fours * 4 == rows || four < rows) put_turned<T, Map>(ctx, v, vector * V, four, buffer);
  }

  template <class Ctx>
  CT_DEVICE static void store(Ctx& ctx, const SkewArgs& a, const TilePlace& tile,
                              SharedPointer<T> buffer) {
    constexpr int of_row = down / V;  // vectors
    constexpr int all = columns * of_row;
    constexpr int at_once = 2;
    std::byte* const dst = a.dst + tile.rest.dst + static_cast<std::int64_t>(tile.row) * size;
    const int rows_left = rows_of_tile(a, tile, 2 * rows);
    for (int first = ctx.thread_index(); first < all; first += at_once * threads) {
      Words value[at_once];
      std::byte* to[at_once];
      int left[at_once];
      CT_UNROLL
      for (int k = 0; k < at_once; ++k) {
        const int i = first + k * threads;
        const int m = i / of_row;
        const std::uint32_t col = tile.col + static_cast<std::uint32_t>(m);
        const bool inside = i < all && col < a.cols.count;
        std::byte* const row = dst + a.cols.at(col);
        const int n = elements_to_sector<T>(row) + i % of_row * V;
        left[k] = inside ? rows_left - n : 0;
        to[k] = row + n * size;
        const int aligned = n / V * V;
        const bool active = left[k] > 0;
        const auto low = ctx.load_if(active, cast<Words>(buffer + Map::at(m, aligned)));
        const auto high =
            ctx.load_if(active && n != aligned, cast<Words>(buffer + Map::at(m, aligned + V)));
        value[k] = funnel<size>(low, high, static_cast<unsigned>(n - aligned) * size);
      }
      CT_UNROLL
      for (int k = 0; k < at_once; ++k) {
        ctx.store_if(left[k] >= V, reinterpret_cast<Words*>(to[k]), value[k]);
        if (left[k] > 0 && left[k] < V) {
          store_elements<T>(ctx, to[k], value[k], 0, left[k] * size);
        }
      }
    }
  }
};

}  // namespace cornerturn::kernels
