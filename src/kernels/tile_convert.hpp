// tile, for values that change their type: what lies in shared memory has the smaller of the two.
// Values that become smaller are converted when they have been read, others before they are
// written. Both sides are met in vectors of 16 bytes.
#pragma once

#include <cstdint>

#include "kernels/scaled.hpp"
#include "kernels/tile.hpp"

namespace cornerturn::kernels {

struct TileConvertArgs : TileArgs {
  ValueArgs values;
  GroupVector scale;
  GroupVector bias;
};

/// Across: vectors of the source. Down: bytes of a row of the destination, as it is staged.
constexpr TileShape convert_shape(int staged_bytes) {
  return {16, staged_bytes == 1 ? 128 : 256};
}

template <class Change, bool one_mode>
struct TileConvert {
  using Src = typename Change::Src;
  using Dst = typename Change::Dst;
  static constexpr int src_size = static_cast<int>(sizeof(Src));
  static constexpr int dst_size = static_cast<int>(sizeof(Dst));
  static constexpr bool when_read = dst_size <= src_size;
  using T = std::conditional_t<when_read, Dst, Src>;  ///< in shared memory
  static constexpr int size = static_cast<int>(sizeof(T));
  static constexpr int read = 16 / src_size;     ///< elements of a vector of the source
  static constexpr int written = 16 / dst_size;  ///< and of the destination
  static constexpr int across = convert_shape(size).across;
  static constexpr int columns = across * read;
  static constexpr int down = convert_shape(size).down_bytes / size;
  static constexpr int lanes_across = 8;
  static constexpr int lanes_down = 4;
  static constexpr int items = across * down / 4;
  static constexpr int turns = items > 256 ? 2 : 1;
  static constexpr int threads = items / turns;
  /// The numbers of a line of eight take registers.
  static constexpr bool long_lines = is_scaled<Change> && when_read && read == 8;
  static constexpr int min_blocks = (long_lines ? 768 : 1024) / threads;
  static_assert(down % (4 * lanes_down) == 0 && threads % 32 == 0);

  using Map = Padded<columns, down, 16 / size, read>;
  static constexpr unsigned tile_bytes = static_cast<unsigned>(Map::required_span_size()) * size;
  static constexpr unsigned shared_bytes = tile_bytes + (one_mode ? 0 : (down + columns) * 8);

  template <class Ctx>
  CT_DEVICE static void run(Ctx& ctx, const TileConvertArgs& a) {
    const auto buffer = ctx.template dynamic_shared<T>();
    const TilePlace tile = tile_place(a, ctx.block_id().x, down, columns);
    const auto tables = cast<std::byte*>(cast<std::uint8_t>(buffer) + tile_bytes);
    RowStarts<one_mode> src{.table = tables};
    RowStarts<one_mode> dst{.table = tables + down};
    src.fill(ctx, a.rows,
             const_cast<std::byte*>(a.src) + tile.rest.src +
                 static_cast<std::int64_t>(tile.col) * src_size,
             tile.row, down, threads);
    dst.fill(ctx, a.cols, a.dst + tile.rest.dst + static_cast<std::int64_t>(tile.row) * dst_size,
             tile.col, columns, threads);
    if constexpr (!one_mode) ctx.barrier();
    const int rows = left_of(a.rows, tile.row, down);
    const int cols = left_of(a.cols, tile.col, columns);
    const Scaling<Change> scaling(ctx, a, tile.number);

    Words v[turns][4];
    CT_UNROLL
    for (int u = 0; u < turns; ++u) {  // Load
      const Item item = item_of(thread_of(ctx) + u * threads);
      std::byte* from = src.at(ctx, item.row);
      CT_UNROLL
      for (int i = 0; i < 4; ++i) {
        if (i > 0) from = src.after(ctx, from, item.row + i);
        const bool inside = item.vector * read < cols && item.row + i < rows;
        v[u][i] = ctx.load_line_if(inside, reinterpret_cast<const Words*>(from + item.vector * 16));
      }
    }
    CT_UNROLL
    for (int u = 0; u < turns; ++u) {
      const Item item = item_of(thread_of(ctx) + u * threads);
      if constexpr (when_read) {
        constexpr int words = read * size / 4;
        const int col = item.vector * read;
        const auto across = scaling.template line<Along::rows, one_mode, 4>(
            ctx, a, item.row < rows, tile.row + static_cast<unsigned>(item.row));
        const auto line = scaling.template line<Along::columns, one_mode, read>(
            ctx, a, col < cols, tile.col + static_cast<unsigned>(col));
        Vec<std::uint32_t, words> narrow[4];
        CT_UNROLL
        for (int i = 0; i < 4; ++i) {
          narrow[i] =
              changed<Change>(a, v[u][i], scaling.template with<Along::rows>(a, line, across, i));
        }
        put_turned<T, Map, words>(ctx, narrow, item.vector * read, item.row, buffer);
      } else {
        put_turned<T, Map>(ctx, v[u], item.vector * read, item.row, buffer);
      }
    }

    ctx.barrier();

    using Staged = Vec<std::uint32_t, written * size / 4>;
    constexpr int vectors = down / written;  // of a row
    constexpr int all = columns * vectors;
    constexpr int at_once = all / threads >= 4 ? 4 : all / threads >= 2 ? 2 : 1;
    static_assert(all % (at_once * threads) == 0 && threads % vectors == 0);
    // Of the elements that this thread writes: the same rows each time.
    const int row = thread_of(ctx) % vectors * written;
    const auto line = scaling.template line<Along::rows, one_mode, written>(
        ctx, a, !when_read && row < rows, tile.row + static_cast<unsigned>(row));
    CT_UNROLL
    for (int first = 0; first < all; first += at_once * threads) {  // Store
      Staged value[at_once];
      CT_UNROLL
      for (int k = 0; k < at_once; ++k) {
        const int i = first + k * threads + thread_of(ctx);
        value[k] = ctx.load(cast<Staged>(buffer + Map::at(i / vectors, i % vectors * written)));
      }
      CT_UNROLL
      for (int k = 0; k < at_once; ++k) {
        const int i = first + k * threads + thread_of(ctx);
        const int m = i / vectors;
        const int n = i % vectors * written;
        const bool inside = m < cols && n < rows;
        auto* const to = reinterpret_cast<Words*>(dst.at(ctx, m) + n * dst_size);
        if constexpr (when_read) {
          ctx.store_if(inside, to, value[k]);
        } else {
          const auto across = scaling.template line<Along::columns, one_mode, 1>(
              ctx, a, m < cols, tile.col + static_cast<unsigned>(m));
          ctx.store_if(inside, to,
                       changed<Change>(a, value[k],
                                       scaling.template with<Along::columns>(a, line, across, 0)));
        }
      }
    }
  }

 private:
  // Which four rows and which vector of them an item is.
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
void dispatch(const TileConvertArgs& a, Visit&& visit) {
  with_change(a, [&]<class Change>() {
    if (a.rows.modes == 1 && a.cols.modes == 1) {
      visit.template operator()<TileConvert<Change, true>>();
    } else {
      visit.template operator()<TileConvert<Change, false>>();
    }
  });
}

}  // namespace cornerturn::kernels
