// tile: the source and the destination run along different modes, both for long. A block takes some
// rows of the source (neighbours in the destination) by some columns (neighbours in the source),
// turns them in blocks of four rows by 16 bytes, and lays the turned blocks down in shared memory
// as rows of the destination.
//
//   source     rows n          shared memory     destination
//   ........   4 rows of       rows m of n,      rows m, 16 bytes
//   ........   16 bytes        padded by 16      a lane
//   ........   a lane          bytes every V
//   ........
#pragma once

#include <cstdint>

#include "kernels/elements.hpp"
#include "kernels/unaligned.hpp"
#include "kernels/walk.hpp"
#include "maps/proofs.hpp"
#include "maps/tile_maps.hpp"

namespace cornerturn::kernels {

/// Modes that follow each other without a gap on one side; where their elements lie on the other.
struct TileGroup {
  static constexpr int max_modes = 6;

  int modes = 0;
  std::uint32_t count = 1;  ///< elements of all modes
  FastDivide tiles;         ///< tiles that this takes
  FastDivide extent[max_modes];
  std::int64_t stride[max_modes] = {};  ///< bytes, on the other side

  CT_HOST_DEVICE constexpr std::int64_t at(std::uint32_t n) const {
    std::int64_t offset = 0;
    for (int i = 0; i + 1 < modes; ++i) {
      const std::uint32_t rest = extent[i].quotient(n);
      offset += static_cast<std::int64_t>(n - rest * extent[i].divisor) * stride[i];
      n = rest;
    }
    return offset + static_cast<std::int64_t>(n) * stride[modes - 1];
  }
};

struct TileArgs {
  const std::byte* src = nullptr;
  std::byte* dst = nullptr;
  std::int64_t src_low = 0;  ///< bytes from `src`: what may be read begins here
  int element_bytes = 1;
  int shape = 0;
  TileGroup rows;  ///< without a gap in the destination; strides of the source
  TileGroup cols;  ///< without a gap in the source; strides of the destination
  Walk rest;
};

/// Where a block's tile begins: its first row and column, and the offsets of the other modes.
struct TilePlace {
  std::uint32_t row = 0;
  std::uint32_t col = 0;
  Offsets rest;
  std::uint32_t number = 0;  ///< of the step through the other modes
};

/// Blocks that follow each other write the same rows of the destination, whose partly filled
/// sectors then meet in the L2 cache.
template <class Args>
CT_DEVICE TilePlace tile_place(const Args& a, std::uint32_t block, int down, int columns) {
  const std::uint32_t above = a.rows.tiles.quotient(block);
  const std::uint32_t rest = a.cols.tiles.quotient(above);
  return {(block - above * a.rows.tiles.divisor) * static_cast<std::uint32_t>(down),
          (above - rest * a.cols.tiles.divisor) * static_cast<std::uint32_t>(columns),
          a.rest.at(rest), rest};
}

/// Where the rows that a block reads, or those that it writes, begin. One mode: a step. Several: a
/// table in shared memory, which the block fills, an entry a thread.
template <bool one_mode>
struct RowStarts {
  std::byte* first = nullptr;
  std::int64_t step = 0;
  SharedPointer<std::byte*> table;

  template <class Ctx>
  CT_DEVICE void fill(Ctx& ctx, const TileGroup& group, std::byte* base, std::uint32_t from,
                      int count, int threads) {
    if constexpr (one_mode) {
      step = group.stride[0];
      first = base + static_cast<std::int64_t>(from) * step;
    } else {
      for (int i = thread_of(ctx); i < count; i += threads) {
        ctx.store(table + i, base + group.at(from + static_cast<std::uint32_t>(i)));
      }
    }
  }
  template <class Ctx>
  CT_DEVICE std::byte* at(Ctx& ctx, int i) const {
    if constexpr (one_mode) return first + i * step;
    return ctx.load(table + i);
  }
  /// at(i), where `before` is at(i - 1).
  template <class Ctx>
  CT_DEVICE std::byte* after(Ctx& ctx, std::byte* before, int i) const {
    if constexpr (one_mode) return before + step;
    return ctx.load(table + i);
  }
};

/// Of a group's elements, those from `from` on, `most` at most.
CT_DEVICE int left_of(const TileGroup& group, std::uint32_t from, int most) {
  const std::uint32_t left = group.count - from;
  return left < static_cast<std::uint32_t>(most) ? static_cast<int>(left) : most;
}

/// Across: 16-byte vectors of a source row. Down: bytes of a destination row.
struct TileShape {
  int across = 16;
  int down_bytes = 256;
};
inline constexpr TileShape tile_shapes[] = {{16, 256}, {8, 128}, {16, 128}, {8, 256}, {4, 64}};
/// The last is for small elements: of larger ones it would be too few for a warp.
constexpr int tile_shape_count(int element_bytes) {
  return element_bytes <= 2 ? 5 : 4;
}

/// Four rows of some words become as many rows of four elements as the words hold; they go to (m,
/// n) and below it.
template <class T, class Map, int words = 4, class Ctx>
CT_DEVICE void put_turned(Ctx& ctx, const Vec<std::uint32_t, words> (&v)[4], int m, int n,
                          SharedPointer<T> buffer) {
  constexpr int size = static_cast<int>(sizeof(T));
  const auto put = [&]<int count>(int row, int column, const Vec<std::uint32_t, count>& value) {
    ctx.store(cast<Vec<std::uint32_t, count>>(buffer + Map::at(row, column)), value);
  };
  if constexpr (size == 1) {
    CT_UNROLL
    for (int k = 0; k < words; ++k) {
      const std::uint32_t even_low = byte_permute(v[0][k], v[1][k], 0x5140);
      const std::uint32_t even_high = byte_permute(v[2][k], v[3][k], 0x5140);
      const std::uint32_t odd_low = byte_permute(v[0][k], v[1][k], 0x7362);
      const std::uint32_t odd_high = byte_permute(v[2][k], v[3][k], 0x7362);
      put.template operator()<1>(m + 4 * k, n, {byte_permute(even_low, even_high, 0x5410)});
      put.template operator()<1>(m + 4 * k + 1, n, {byte_permute(even_low, even_high, 0x7632)});
      put.template operator()<1>(m + 4 * k + 2, n, {byte_permute(odd_low, odd_high, 0x5410)});
      put.template operator()<1>(m + 4 * k + 3, n, {byte_permute(odd_low, odd_high, 0x7632)});
    }
  } else if constexpr (size == 2) {
    CT_UNROLL
    for (int k = 0; k < words; ++k) {
      put.template operator()<2>(
          m + 2 * k, n,
          {byte_permute(v[0][k], v[1][k], 0x5410), byte_permute(v[2][k], v[3][k], 0x5410)});
      put.template operator()<2>(
          m + 2 * k + 1, n,
          {byte_permute(v[0][k], v[1][k], 0x7632), byte_permute(v[2][k], v[3][k], 0x7632)});
    }
  } else if constexpr (size == 4) {
    CT_UNROLL
    for (int k = 0; k < words; ++k) {
      put.template operator()<4>(m + k, n, {v[0][k], v[1][k], v[2][k], v[3][k]});
    }
  } else if constexpr (size == 8) {
    CT_UNROLL
    for (int k = 0; k < words / 2; ++k) {
      CT_UNROLL
      for (int i = 0; i < 4; i += 2) {
        put.template operator()<4>(
            m + k, n + i, {v[i][2 * k], v[i][2 * k + 1], v[i + 1][2 * k], v[i + 1][2 * k + 1]});
      }
    }
  } else {
    CT_UNROLL
    for (int i = 0; i < 4; ++i) put.template operator()<4>(m, n + i, v[i]);
  }
}

template <class T, int shape, bool one_mode>
struct Tile {
  static constexpr int size = static_cast<int>(sizeof(T));
  static constexpr int V = 16 / size;
  static constexpr int across = tile_shapes[shape].across;
  static constexpr int columns = across * V;
  static constexpr int down = tile_shapes[shape].down_bytes / size;
  static constexpr int lanes_across = across < 8 ? across : 8;
  static constexpr int lanes_down = 32 / lanes_across;
  static constexpr int fours = (down / 4 + lanes_down - 1) / lanes_down * lanes_down;
  static constexpr int items = across * fours;
  static constexpr int turns = items > 256 ? 2 : 1;
  static constexpr int threads = ((items + turns - 1) / turns + 31) / 32 * 32;
  static constexpr int min_blocks = 1024 / threads;
  static constexpr bool exact = fours * 4 == down && items % threads == 0;
  static_assert(down % 4 == 0);

  /// Of the turned tile: its rows are the destination's.
  using Map = Padded<columns, down, V, V>;
  static constexpr unsigned tile_bytes = static_cast<unsigned>(Map::required_span_size()) * size;
  static constexpr unsigned shared_bytes = tile_bytes + (one_mode ? 0 : (down + columns) * 8);

  template <class Ctx>
  CT_DEVICE static void run(Ctx& ctx, const TileArgs& a) {
    const auto buffer = ctx.template dynamic_shared<T>();
    const TilePlace tile = tile_place(a, ctx.block_id().x, down, columns);
    const auto tables = cast<std::byte*>(cast<std::uint8_t>(buffer) + tile_bytes);
    RowStarts<one_mode> src{.table = tables};
    RowStarts<one_mode> dst{.table = tables + down};
    src.fill(
        ctx, a.rows,
        const_cast<std::byte*>(a.src) + tile.rest.src + static_cast<std::int64_t>(tile.col) * size,
        tile.row, down, threads);
    dst.fill(ctx, a.cols, a.dst + tile.rest.dst + static_cast<std::int64_t>(tile.row) * size,
             tile.col, columns, threads);
    if constexpr (!one_mode) ctx.barrier();
    const int rows = left_of(a.rows, tile.row, down);
    const int cols = left_of(a.cols, tile.col, columns);

    Words v[turns][4];
    CT_UNROLL
    for (int u = 0; u < turns; ++u) {  // Load
      const Item item = item_of(thread_of(ctx) + u * threads);
      const int row = exact ? item.row : item.row % down;
      std::byte* from = src.at(ctx, row);
      CT_UNROLL
      for (int i = 0; i < 4; ++i) {
        if (i > 0) from = src.after(ctx, from, row + i);
        const bool inside = item.vector * V < cols && item.row + i < rows;
        v[u][i] = ctx.load_line_if(inside, reinterpret_cast<const Words*>(from + item.vector * 16));
      }
    }
    CT_UNROLL
    for (int u = 0; u < turns; ++u) {
      const Item item = item_of(thread_of(ctx) + u * threads);
      if (!exact && item.row >= down) continue;
      put_turned<T, Map>(ctx, v[u], item.vector * V, item.row, buffer);
    }

    ctx.barrier();

    constexpr int vectors = down / V;  // of a row
    constexpr int all = columns * vectors;
    constexpr int at_once = all / threads >= 4 ? 4 : all / threads >= 2 ? 2 : 1;
    CT_UNROLL
    for (int first = 0; first < all; first += at_once * threads) {  // Store
      Words value[at_once];
      CT_UNROLL
      for (int k = 0; k < at_once; ++k) {
        const int i = first + k * threads + thread_of(ctx);
        const bool mine = all % (at_once * threads) == 0 || i < all;
        value[k] = ctx.load_if(mine, cast<Words>(buffer + Map::at(i / vectors, i % vectors * V)));
      }
      CT_UNROLL
      for (int k = 0; k < at_once; ++k) {
        const int i = first + k * threads + thread_of(ctx);
        const int m = i / vectors;
        const int n = i % vectors * V;
        const bool inside = m < cols && n < rows;
        std::byte* const to = dst.at(ctx, all % threads == 0 ? m : m % columns) + n * size;
        ctx.store_if(inside, reinterpret_cast<Words*>(to), value[k]);
      }
    }
  }

 private:
  // Which four rows and which vector of them an item is: lanes of a warp take `lanes_across`
  // neighbouring vectors.
  struct Item {
    int vector;
    int row;
  };
  CT_DEVICE static Item item_of(int i) {
    const int lane = i % 32;
    const int warp = i / 32;
    constexpr int warps_across = across / lanes_across;
    return {lane % lanes_across + warp % warps_across * lanes_across,
            4 * (lane / lanes_across + warp / warps_across * lanes_down)};
  }
};

template <class Visit>
void dispatch(const TileArgs& a, Visit&& visit) {
  with_element(a.element_bytes, [&]<class T>(T) {
    const auto with_shape = [&]<int shape>() {
      if (a.rows.modes == 1 && a.cols.modes == 1) {
        visit.template operator()<Tile<T, shape, true>>();
      } else {
        visit.template operator()<Tile<T, shape, false>>();
      }
    };
    switch (a.shape) {
      case 0:
        return with_shape.template operator()<0>();
      case 1:
        return with_shape.template operator()<1>();
      case 2:
        return with_shape.template operator()<2>();
      case 3:
        return with_shape.template operator()<3>();
      default:
        if constexpr (sizeof(T) <= 2) return with_shape.template operator()<4>();
    }
  });
}

}  // namespace cornerturn::kernels
