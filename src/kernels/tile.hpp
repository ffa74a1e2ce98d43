// tile: the source and the destination run along different modes, both for long. A block takes some
// rows of the source (neighbours in the destination) by some columns (neighbours in the source),
// transposes them in blocks of four rows by 16 bytes, and lays these blocks down in shared memory
// as rows of the destination.
//
//   source     rows n          shared memory     destination
//   ........   4 rows of       rows m of n,      rows m, 16 bytes
//   ........   16 bytes        padded by 16      a lane
//   ........   a lane          bytes every V
//   ........
//
// Values may change their type on the way. What lies in shared memory has the smaller of the two
// types: values that become smaller are converted when they have been read, others before they are
// written.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <utility>

#include "kernels/casts.hpp"
#include "kernels/cut_sectors.hpp"
#include "kernels/elements.hpp"
#include "kernels/scaled.hpp"
#include "kernels/unaligned.hpp"
#include "kernels/walk.hpp"
#include "maps/proofs.hpp"
#include "maps/tile_maps.hpp"

namespace cornerturn::kernels {

/// Divisors of an order that has several bands.
struct TileBands {
  FastDivide whole;        ///< tiles of a whole one
  FastDivide last_column;  ///< of a column of the last one
};

/// The order of tiles. Those of a matrix are taken in bands of some tiles of every column, column
/// by column: whatever two neighbours both touch, the one that comes later finds in the L2 cache.
///
///   bands of 3      0  3  6  9
///                   1  4  7 10      Blocks that follow each other write the same rows of the
///                   2  5  8 11      destination, which here go down: partly filled sectors
///                  12 14 16 18      meet as well.
///                  13 15 17 19
struct TileOrder {
  struct Place {
    std::uint32_t down = 0;    ///< tiles before it in its column
    std::uint32_t across = 0;  ///< and in its row
    std::uint32_t matrix = 0;
  };

  FastDivide column;  ///< tiles of a column, or of its part in a whole band
  std::uint32_t last_band = 0;
  std::uint32_t matrices = 1;

  constexpr TileOrder() = default;
  constexpr TileOrder(std::uint32_t down, std::uint32_t of_band, std::uint32_t count)
      : column(of_band), last_band((down - 1) / of_band), matrices(count) {}

  constexpr TileBands bands(std::uint32_t down, std::uint32_t across) const {
    return {FastDivide(column.divisor * across), FastDivide(down - last_band * column.divisor)};
  }

  CT_HOST_DEVICE constexpr Place at(std::uint32_t number, const FastDivide& matrix,
                                    const TileBands& bands) const {
    Place place;
    std::uint32_t tile = number;
    if (matrices > 1) {
      place.matrix = matrix.quotient(number);
      tile -= place.matrix * matrix.divisor;
    }
    std::uint32_t of_column = column.divisor;
    if (last_band == 0) {
      place.across = column.quotient(tile);
    } else {
      const std::uint32_t band = bands.whole.quotient(tile);
      tile -= band * bands.whole.divisor;
      place.down = band * of_column;
      const FastDivide& of = band == last_band ? bands.last_column : column;
      place.across = of.quotient(tile);
      of_column = of.divisor;
    }
    place.down += tile - place.across * of_column;
    return place;
  }
};

/// Modes that follow each other without a gap on one side, and where their elements lie on the
/// other.
struct TileModes {
  static constexpr int max_modes = 6;

  int count = 0;
  std::int64_t stride[max_modes] = {};  ///< bytes
  FastDivide extent[max_modes];

  CT_HOST_DEVICE constexpr std::int64_t at(std::uint32_t n) const {
    const int last = count - 1;
    std::int64_t offset = 0;
    for (int i = 0; i < last; ++i) {
      const std::uint32_t rest = extent[i].quotient(n);
      offset += static_cast<std::int64_t>(n - rest * extent[i].divisor) * stride[i];
      n = rest;
    }
    return offset + static_cast<std::int64_t>(n) * stride[last];
  }
};

/// Rows and columns of a matrix of tiles, or of each of several. Rows lie without a gap in the
/// destination, columns in the source. Steps are bytes on the other side, of a group of one mode.
struct TileMatrix {
  std::int64_t row_step = 0;  ///< from a row of the source to the next
  std::int64_t col_step = 0;  ///< and of the destination
  std::uint32_t rows = 1;
  std::uint32_t cols = 1;
  TileOrder order;
};

/// Each line of 64 bytes of the arguments that a block needs is a miss of the constant cache, one
/// after the other, and the arguments begin 16 bytes behind such a line. Most blocks need `src`,
/// `dst` and `matrix` alone, which fill the second one.
struct TileArgs {
  TileBands bands;
  FastDivide tiles;  ///< of a matrix
  int element_bytes = 1;
  std::int16_t shape = 0;
  bool prefetches = false;  ///< the sectors that rows leave in part (cut_sectors.hpp)
  const std::byte* src = nullptr;
  std::byte* dst = nullptr;
  TileMatrix matrix;
  Walk rest;
  TileModes row_modes;
  TileModes col_modes;
  ValueArgs values;
  GroupVector scale;
  GroupVector bias;
};

static_assert(offsetof(TileArgs, src) == 48 && sizeof(TileMatrix) == 48);

/// Where a block's tile begins: its first row and column, and the offsets of the other modes.
struct TilePlace {
  std::uint32_t row = 0;
  std::uint32_t col = 0;
  Offsets rest;
  std::uint32_t number = 0;  ///< of the step through the other modes
};

template <class Args>
CT_DEVICE TilePlace tile_place(const Args& a, std::uint32_t block, int down, int columns) {
  const TileOrder::Place at = a.matrix.order.at(block, a.tiles, a.bands);
  return {at.down * static_cast<std::uint32_t>(down),
          at.across * static_cast<std::uint32_t>(columns),
          a.matrix.order.matrices > 1 ? a.rest.at(at.matrix) : Offsets{}, at.matrix};
}

/// Where the rows that a block reads, or those that it writes, begin. One mode: a step. Several: a
/// table in shared memory, which the block fills, an entry a thread.
template <bool one_mode>
struct RowStarts {
  std::byte* first = nullptr;
  std::int64_t step = 0;
  SharedPointer<std::byte*> table;

  template <class Ctx>
  CT_DEVICE void fill(Ctx& ctx, std::int64_t step_of_one, const TileModes& modes, std::byte* base,
                      std::uint32_t from, int count, int threads) {
    if constexpr (one_mode) {
      step = step_of_one;
      first = base + static_cast<std::int64_t>(from) * step;
    } else {
      for (int i = thread_of(ctx); i < count; i += threads) {
        ctx.store(table + i, base + modes.at(from + static_cast<std::uint32_t>(i)));
      }
    }
  }
  template <class Ctx>
  CT_DEVICE std::byte* at(Ctx& ctx, int i) const {
    if constexpr (one_mode) return first + static_cast<unsigned>(i) * step;
    return ctx.load(table + i);
  }
  /// at(i), where `before` is at(i - by).
  template <int by = 1, class Ctx>
  CT_DEVICE std::byte* after(Ctx& ctx, std::byte* before, int i) const {
    if constexpr (one_mode) return before + by * step;
    return ctx.load(table + i);
  }
};

/// How many of `count` elements there are from `from` on, `most` at most.
CT_DEVICE int left_of(std::uint32_t count, std::uint32_t from, int most) {
  const std::uint32_t left = count - from;
  return left < static_cast<std::uint32_t>(most) ? static_cast<int>(left) : most;
}

/// Across: 16-byte vectors of a source row. Down: bytes of a destination row in shared memory.
struct TileShape {
  int across = 16;
  int down_bytes = 256;
};
inline constexpr TileShape tile_shapes[] = {{16, 256}, {8, 128}, {16, 128}, {8, 256}, {4, 64}};
/// Larger elements would be too few for a warp in the last one.
constexpr bool has_tile_shape(int shape, int element_bytes) {
  return shape < 4 || element_bytes <= 2;
}
/// The one shape that there is where values change; `staged_bytes`: an element in shared memory.
constexpr int changing_tile_shape(int staged_bytes) {
  return staged_bytes == 1 ? 2 : 0;
}

/// Four rows of some words become as many rows of four elements as the words hold; element (i, j)
/// of these goes to `at(i, j)`.
template <class T, int words, class Ctx, class At>
CT_DEVICE void put_transposed_at(Ctx& ctx, const Vec<std::uint32_t, words> (&v)[4], const At& at) {
  constexpr int size = static_cast<int>(sizeof(T));
  const auto put = [&]<int count>(int row, int column, const Vec<std::uint32_t, count>& value) {
    ctx.store(cast<Vec<std::uint32_t, count>>(at(row, column)), value);
  };
  if constexpr (size == 1) {
    CT_UNROLL
    for (int k = 0; k < words; ++k) {
      const std::uint32_t even_low = byte_permute(v[0][k], v[1][k], 0x5140);
      const std::uint32_t even_high = byte_permute(v[2][k], v[3][k], 0x5140);
      const std::uint32_t odd_low = byte_permute(v[0][k], v[1][k], 0x7362);
      const std::uint32_t odd_high = byte_permute(v[2][k], v[3][k], 0x7362);
      put.template operator()<1>(4 * k, 0, {byte_permute(even_low, even_high, 0x5410)});
      put.template operator()<1>(4 * k + 1, 0, {byte_permute(even_low, even_high, 0x7632)});
      put.template operator()<1>(4 * k + 2, 0, {byte_permute(odd_low, odd_high, 0x5410)});
      put.template operator()<1>(4 * k + 3, 0, {byte_permute(odd_low, odd_high, 0x7632)});
    }
  } else if constexpr (size == 2) {
    CT_UNROLL
    for (int k = 0; k < words; ++k) {
      put.template operator()<2>(
          2 * k, 0,
          {byte_permute(v[0][k], v[1][k], 0x5410), byte_permute(v[2][k], v[3][k], 0x5410)});
      put.template operator()<2>(
          2 * k + 1, 0,
          {byte_permute(v[0][k], v[1][k], 0x7632), byte_permute(v[2][k], v[3][k], 0x7632)});
    }
  } else if constexpr (size == 4) {
    CT_UNROLL
    for (int k = 0; k < words; ++k) {
      put.template operator()<4>(k, 0, {v[0][k], v[1][k], v[2][k], v[3][k]});
    }
  } else if constexpr (size == 8) {
    CT_UNROLL
    for (int k = 0; k < words / 2; ++k) {
      CT_UNROLL
      for (int i = 0; i < 4; i += 2) {
        put.template operator()<4>(
            k, i, {v[i][2 * k], v[i][2 * k + 1], v[i + 1][2 * k], v[i + 1][2 * k + 1]});
      }
    }
  } else {
    CT_UNROLL
    for (int i = 0; i < 4; ++i) put.template operator()<4>(0, i, v[i]);
  }
}

/// Puts them to (m, n) of the map and below it; m is a whole number of rows after which the map
/// leaves pads free.
template <class T, class Map, int words = 4, class Ctx>
CT_DEVICE void put_transposed(Ctx& ctx, const Vec<std::uint32_t, words> (&v)[4], int m, int n,
                              SharedPointer<T> buffer) {
  const auto first = buffer + Map::at(m, n);
  put_transposed_at<T>(ctx, v, [=](int i, int j) { return first + Map::at(i, j); });
}

/// Asks for the sectors that rows of the destination leave in part: a row's first tile for those
/// before it, and its last one, which has `most` elements of it or fewer, for those behind it.
template <class T, int threads, class Args, class Ctx, class Starts>
CT_DEVICE void prefetch_rows(Ctx& ctx, const Args& a, const TilePlace& tile, int most,
                             const Starts& starts, int cols) {
  if (!a.prefetches) return;
  const std::uint32_t left = a.matrix.rows - tile.row;
  const bool begins = tile.row == 0;
  const bool ends = left <= static_cast<std::uint32_t>(most);
  if (!begins && !ends) return;
  CT_NO_UNROLL
  for (auto m = static_cast<int>(ctx.thread_id().x); m < cols; m += threads) {
    prefetch_ends(ctx, starts.at(ctx, m), std::int64_t{left} * static_cast<int>(sizeof(T)), begins,
                  ends);
  }
}

template <class Change, int shape, bool one_mode>
struct Tile {
  using Src = typename Change::Src;
  using Dst = typename Change::Dst;
  static constexpr int src_size = static_cast<int>(sizeof(Src));
  static constexpr int dst_size = static_cast<int>(sizeof(Dst));
  static constexpr bool when_read = dst_size <= src_size;  ///< values change, else when written
  static constexpr bool changes_read = changes_values<Change> && when_read;
  static constexpr bool changes_written = changes_values<Change> && !when_read;
  using T = std::conditional_t<when_read, Dst, Src>;  ///< in shared memory
  static constexpr int size = static_cast<int>(sizeof(T));
  static constexpr int read = 16 / src_size;     ///< elements of a vector of the source
  static constexpr int written = 16 / dst_size;  ///< and of the destination
  static constexpr int across = tile_shapes[shape].across;
  static constexpr int columns = across * read;
  static constexpr int down = tile_shapes[shape].down_bytes / size;
  static constexpr int lanes_across = across < 8 ? across : 8;
  static constexpr int lanes_down = 32 / lanes_across;
  static constexpr int fours = (down / 4 + lanes_down - 1) / lanes_down * lanes_down;
  static constexpr int items = across * fours;
  static constexpr int repeats = items > 256 ? 2 : 1;  ///< fours of rows that a lane takes
  static constexpr int threads = ((items + repeats - 1) / repeats + 31) / 32 * 32;
  /// The numbers of a line of eight take registers.
  static constexpr bool long_lines = is_scaled<Change> && when_read && read == 8;
  static constexpr int min_blocks = (long_lines ? 768 : 1024) / threads;
  static constexpr bool exact = fours * 4 == down && items % threads == 0;
  static_assert(down % 4 == 0);

  /// Where the transposed tile lies: its rows are the destination's.
  using Map = Padded<columns, down, 16 / size, read>;
  static constexpr unsigned tile_bytes = static_cast<unsigned>(Map::required_span_size()) * size;
  static constexpr unsigned shared_bytes = tile_bytes + (one_mode ? 0 : (down + columns) * 8);

  template <class Ctx>
  CT_DEVICE static void run(Ctx& ctx, const TileArgs& a) {
    const auto buffer = ctx.template dynamic_shared<T>();
    const TilePlace tile = tile_place(a, ctx.block_id().x, down, columns);
    const auto tables = cast<std::byte*>(cast<std::uint8_t>(buffer) + tile_bytes);
    RowStarts<one_mode> src{.table = tables};
    RowStarts<one_mode> dst{.table = tables + down};
    src.fill(ctx, a.matrix.row_step, a.row_modes,
             const_cast<std::byte*>(a.src) + tile.rest.src +
                 static_cast<std::int64_t>(tile.col) * src_size,
             tile.row, down, threads);
    dst.fill(ctx, a.matrix.col_step, a.col_modes,
             a.dst + tile.rest.dst + static_cast<std::int64_t>(tile.row) * dst_size, tile.col,
             columns, threads);
    if constexpr (!one_mode) ctx.barrier();
    const int rows = left_of(a.matrix.rows, tile.row, down);
    const int cols = left_of(a.matrix.cols, tile.col, columns);
    const Scaling<Change> scaling(ctx, a, tile.number);
    load(ctx, a, tile, rows, cols, src, scaling, buffer);
    prefetch_rows<Dst, threads>(ctx, a, tile, down, dst, cols);
    ctx.barrier();

    // A thread writes the same vector of some rows.
    using Staged = Vec<std::uint32_t, written * size / 4>;
    constexpr int vectors = down / written;  // of a row
    static_assert(threads % vectors == 0);
    constexpr int step = threads / vectors;  // rows
    constexpr int turns = (columns + step - 1) / step;
    constexpr int at_once = turns >= 4 ? 4 : turns >= 2 ? 2 : 1;
    const unsigned thread = ctx.thread_id().x;
    const auto n = static_cast<int>(thread % vectors * written);
    const auto row = static_cast<int>(thread / vectors);
    const auto line = scaling.template line<Along::rows, one_mode, written>(
        ctx, a, changes_written && n < rows, tile.row + static_cast<unsigned>(n));
    std::byte* to = dst.at(ctx, turns * step == columns ? row : row % columns);
    CT_UNROLL
    for (int first = 0; first < turns; first += at_once) {  // Store
      Staged value[at_once];
      CT_UNROLL
      for (int k = 0; k < at_once; ++k) {
        const int m = row + (first + k) * step;
        const bool mine = columns % (at_once * step) == 0 || m < columns;
        value[k] = ctx.load_if(mine, cast<Staged>(buffer + Map::at(m, n)));
      }
      CT_UNROLL
      for (int k = 0; k < at_once; ++k) {
        const int m = row + (first + k) * step;
        const bool inside = m < cols && n < rows;
        if (first + k > 0) {
          to = dst.template after<step>(ctx, to, turns * step == columns ? m : m % columns);
        }
        auto* const vector = reinterpret_cast<Words*>(to + n * dst_size);
        if constexpr (changes_written) {
          const auto over = scaling.template line<Along::columns, one_mode, 1>(
              ctx, a, m < cols, tile.col + static_cast<unsigned>(m));
          ctx.store_if(inside, vector,
                       changed<Change>(a, value[k],
                                       scaling.template with<Along::columns>(a, line, over, 0)));
        } else {
          ctx.store_if(inside, vector, value[k]);
        }
      }
    }
  }

 private:
  template <class Ctx>
  CT_DEVICE static void load(Ctx& ctx, const TileArgs& a, const TilePlace& tile, int rows, int cols,
                             const RowStarts<one_mode>& src, const Scaling<Change>& scaling,
                             SharedPointer<T> buffer) {
    Words v[repeats][4];
    CT_UNROLL
    for (unsigned u = 0; u < repeats; ++u) {
      const Item item = item_of(ctx.thread_id().x + u * threads);
      const int row = exact ? item.row : item.row % down;
      std::byte* from = src.at(ctx, row);
      CT_UNROLL
      for (int i = 0; i < 4; ++i) {
        if (i > 0) from = src.after(ctx, from, row + i);
        const bool inside = item.vector * read < cols && item.row + i < rows;
        v[u][i] = ctx.load_line_if(inside, reinterpret_cast<const Words*>(from + item.vector * 16));
      }
    }
    CT_UNROLL
    for (unsigned u = 0; u < repeats; ++u) {
      const Item item = item_of(ctx.thread_id().x + u * threads);
      if (!exact && item.row >= down) continue;
      const int col = item.vector * read;
      if constexpr (changes_read) {
        constexpr int words = read * size / 4;
        const auto over = scaling.template line<Along::rows, one_mode, 4>(
            ctx, a, item.row < rows, tile.row + static_cast<unsigned>(item.row));
        const auto line = scaling.template line<Along::columns, one_mode, read>(
            ctx, a, col < cols, tile.col + static_cast<unsigned>(col));
        Vec<std::uint32_t, words> narrow[4];
        CT_UNROLL
        for (int i = 0; i < 4; ++i) {
          narrow[i] =
              changed<Change>(a, v[u][i], scaling.template with<Along::rows>(a, line, over, i));
        }
        put_transposed<T, Map, words>(ctx, narrow, col, item.row, buffer);
      } else {
        put_transposed<T, Map>(ctx, v[u], col, item.row, buffer);
      }
    }
  }

  // Which four rows and which vector of them an item is: lanes of a warp take `lanes_across`
  // neighbouring vectors.
  struct Item {
    int vector;
    int row;
  };
  CT_DEVICE static Item item_of(unsigned i) {
    const unsigned lane = i % 32;
    const unsigned warp = i / 32;
    constexpr unsigned warps_across = across / lanes_across;
    return {static_cast<int>(lane % lanes_across + warp % warps_across * lanes_across),
            static_cast<int>(4 * (lane / lanes_across + warp / warps_across * lanes_down))};
  }
};

template <class Visit>
void dispatch(const TileArgs& a, Visit&& visit) {
  const auto with_modes = [&]<class Change, int shape>() {
    if (a.row_modes.count == 1 && a.col_modes.count == 1) {
      visit.template operator()<Tile<Change, shape, true>>();
    } else {
      visit.template operator()<Tile<Change, shape, false>>();
    }
  };
  if (a.values.converts) {
    with_change(a, [&]<class Change>() {
      constexpr int staged = std::min(sizeof(typename Change::Src), sizeof(typename Change::Dst));
      with_modes.template operator()<Change, changing_tile_shape(staged)>();
    });
    return;
  }
  with_element(a.element_bytes, [&]<class T>(T) {
    const auto with_shape = [&]<int shape>() {
      if constexpr (has_tile_shape(shape, sizeof(T))) {
        if (a.shape == shape) with_modes.template operator()<Move<T>, shape>();
      }
    };
    [&]<int... shape>(std::integer_sequence<int, shape...>) {
      (with_shape.template operator()<shape>(), ...);
    }
    (std::make_integer_sequence<int, std::size(tile_shapes)>());
  });
}

}  // namespace cornerturn::kernels
