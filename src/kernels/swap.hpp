// swap: two modes of one extent change places within the array, without any workspace. A block
// takes the tiles (i, j) and (j, i) of a matrix, reads both, and writes each of them, transposed,
// where the other was. A tile of the diagonal changes within itself.
//
//   SwapTiles   elements of 1 to 16 bytes in vectors of 16 bytes, transposed on their way to shared
//               memory as those of `tile` are
//   SwapUnits   the same in units of 4 bytes, or of one element where that is longer, for rows that
//               begin anywhere; what a row has beside whole units is moved element by element
//   SwapWords   an element a lane, for elements that lie apart
//   SwapRuns    longer elements: their words change places directly, without shared memory
#pragma once

#include <cstdint>

#include "kernels/context.hpp"
#include "kernels/elements.hpp"
#include "kernels/tile.hpp"
#include "kernels/walk.hpp"
#include "maps/fast_divide.hpp"
#include "maps/tile_maps.hpp"

namespace cornerturn::kernels {

/// The pairs (row, column) with row >= column of a square of tiles, folded into a rectangle:
/// what lies right of the diagonal in it stands for the lower right part of the triangle.
struct Triangle {
  std::uint32_t tiles = 1;
  FastDivide width;

  struct Pair {
    std::uint32_t row;
    std::uint32_t column;
  };

  constexpr Triangle() = default;
  constexpr explicit Triangle(std::uint32_t count) : tiles(count), width((count + 1) / 2) {}

  constexpr std::int64_t count() const { return std::int64_t{tiles} * (tiles + 1) / 2; }
  CT_HOST_DEVICE constexpr Pair at(std::uint32_t n) const {
    const std::uint32_t row = width.quotient(n);
    const std::uint32_t column = n - row * width.divisor;
    const std::uint32_t odd = tiles % 2;
    if (column < row + odd) return {row + odd - 1, column};
    return {tiles - 1 - row, tiles - 1 + odd - column};
  }
};

/// Those pairs in groups: blocks that run at once then take tiles that lie near each other, in
/// rows as well as in columns. First all groups beside the diagonal, squares of `side` by `side`
/// tiles, then those on it, which are triangles. Where `side` does not divide the tiles, some pairs
/// lie outside: their row is no tile.
struct TileGroups {
  Triangle beside;  ///< of groups, without the diagonal
  Triangle within;  ///< a group on the diagonal
  FastDivide side;
  FastDivide area;               ///< pairs of a group beside the diagonal
  FastDivide within_count;       ///< and of one on it
  std::uint32_t all_beside = 0;  ///< pairs of all groups beside the diagonal
  std::uint32_t groups = 1;

  constexpr TileGroups() = default;
  constexpr TileGroups(std::uint32_t tiles, std::uint32_t group)
      : within(group),
        side(group),
        area(group * group),
        within_count(static_cast<std::uint32_t>(within.count())),
        groups((tiles + group - 1) / group) {
    if (groups < 2) return;
    beside = Triangle(groups - 1);
    all_beside = static_cast<std::uint32_t>(beside.count()) * area.divisor;
  }

  constexpr std::int64_t count() const {
    return all_beside + std::int64_t{groups} * within_count.divisor;
  }
  CT_HOST_DEVICE constexpr Triangle::Pair at(std::uint32_t n) const {
    if (n < all_beside) {
      const std::uint32_t group = area.quotient(n);
      const Triangle::Pair pair = beside.at(group);
      const std::uint32_t inside = n - group * area.divisor;
      const std::uint32_t row = side.quotient(inside);
      return {(pair.row + 1) * side.divisor + row,
              pair.column * side.divisor + inside - row * side.divisor};
    }
    const std::uint32_t group = within_count.quotient(n - all_beside);
    const Triangle::Pair pair = within.at(n - all_beside - group * within_count.divisor);
    return {group * side.divisor + pair.row, group * side.divisor + pair.column};
  }
};

enum class SwapWay : std::uint8_t {
  words,
  units,    ///< elements lie side by side
  vectors,  ///< and all rows begin at multiples of 16 bytes, and have whole vectors
  wide,     ///< the same, in tiles whose rows have 256 bytes
};

struct SwapArgs {
  std::byte* array = nullptr;
  std::int64_t row_stride = 0;  ///< bytes
  std::int64_t column_stride = 0;
  std::uint32_t extent = 0;  ///< elements of either mode
  int word_bytes = 1;
  SwapWay way = SwapWay::words;
  std::uint32_t words = 1;   ///< of an element
  FastDivide words_of_part;  ///< a block of SwapRuns takes so many of them
  FastDivide parts;          ///< that an element has
  FastDivide pairs;          ///< of tiles, of a matrix
  TileGroups tiles;
  Walk matrices;
};

/// What a block takes: tile (row, column), whose first element is at [0][0] of both tiles.
struct SwapPlace {
  std::byte* lower = nullptr;  ///< tile (row, column)
  std::byte* upper = nullptr;  ///< tile (column, row)
  std::uint32_t first_row = 0;
  std::uint32_t first_column = 0;
  std::uint32_t part = 0;
  bool diagonal = false;
};

CT_DEVICE SwapPlace swap_place(const SwapArgs& a, std::uint32_t block, std::uint32_t side) {
  const std::uint32_t number = a.parts.quotient(block);
  const std::uint32_t matrix = a.pairs.quotient(number);
  const Triangle::Pair tile = a.tiles.at(number - matrix * a.pairs.divisor);
  SwapPlace place;
  place.part = block - number * a.parts.divisor;
  place.first_row = tile.row * side;
  place.first_column = tile.column * side;
  place.diagonal = tile.row == tile.column;
  std::byte* const base = a.array + a.matrices.at(matrix).dst;
  place.lower = base + place.first_row * a.row_stride + place.first_column * a.column_stride;
  place.upper = base + place.first_column * a.row_stride + place.first_row * a.column_stride;
  return place;
}

template <class T, bool wide = false>
struct SwapTiles {
  static constexpr int size = static_cast<int>(sizeof(T));
  static constexpr int side = wide ? 256 / size : size == 1 ? 128 : size <= 4 ? 64 : 32;
  static constexpr int vector = 16 / size;  ///< elements
  static constexpr int across = side / vector;
  static constexpr int lanes_across = across < 8 ? across : 8;
  static constexpr int lanes_down = 32 / lanes_across;
  static constexpr int threads = across * (side / 4);
  static constexpr int min_blocks = 1024 / threads;
  /// Where a transposed tile lies.
  using Map = Padded<side, side, 16 / size, vector>;
  static constexpr int tile_elements = static_cast<int>(Map::required_span_size());
  static constexpr unsigned shared_bytes = 2U * tile_elements * size;

  template <class Ctx>
  CT_DEVICE static void run(Ctx& ctx, const SwapArgs& a) {
    const auto shared = ctx.template dynamic_shared<T>();
    const SwapPlace p = swap_place(a, ctx.block_id().x, side);
    if (p.first_row >= a.extent) return;
    const int lane = thread_of(ctx) % 32;
    const int warp = thread_of(ctx) / 32;
    constexpr int warps_across = across / lanes_across;
    const int column = (lane % lanes_across + warp % warps_across * lanes_across) * vector;
    const int row = 4 * (lane / lanes_across + warp / warps_across * lanes_down);

    // Load both tiles before either is written.
    Words lower[4], upper[4];
    load(ctx, a, p.lower, row, column, p.first_row, p.first_column, true, lower);
    load(ctx, a, p.upper, row, column, p.first_column, p.first_row, !p.diagonal, upper);
    put_transposed<T, Map>(ctx, lower, column, row, shared);
    if (!p.diagonal) put_transposed<T, Map>(ctx, upper, column, row, shared + tile_elements);

    ctx.barrier();

    store(ctx, a, p.upper, p.first_column, p.first_row, true, shared);
    store(ctx, a, p.lower, p.first_row, p.first_column, !p.diagonal, shared + tile_elements);
  }

 private:
  template <class Ctx>
  CT_DEVICE static void load(Ctx& ctx, const SwapArgs& a, const std::byte* tile, int row,
                             int column, std::uint32_t first_row, std::uint32_t first_column,
                             bool active, Words (&v)[4]) {
    const std::byte* from = tile + row * a.row_stride + column * size;
    CT_UNROLL
    for (int i = 0; i < 4; ++i) {
      const bool inside = active && first_row + static_cast<unsigned>(row + i) < a.extent &&
                          first_column + static_cast<unsigned>(column) < a.extent;
      v[i] = ctx.load_line_if(inside, reinterpret_cast<const Words*>(from + i * a.row_stride));
    }
  }

  template <class Ctx>
  CT_DEVICE static void store(Ctx& ctx, const SwapArgs& a, std::byte* tile, std::uint32_t first_row,
                              std::uint32_t first_column, bool active, SharedPointer<T> from) {
    Words v[4];
    CT_UNROLL
    for (int k = 0; k < 4; ++k) {
      const int i = k * threads + thread_of(ctx);
      v[k] = ctx.load_if(active, cast<Words>(from + Map::at(i / across, i % across * vector)));
    }
    CT_UNROLL
    for (int k = 0; k < 4; ++k) {
      const int i = k * threads + thread_of(ctx);
      const int row = i / across;
      const int column = i % across * vector;
      const bool inside = active && first_row + static_cast<unsigned>(row) < a.extent &&
                          first_column + static_cast<unsigned>(column) < a.extent;
      ctx.store_if(inside, reinterpret_cast<Words*>(tile + row * a.row_stride + column * size),
                   v[k]);
    }
  }
};

/// Rows lie in shared memory at the phase that they have within a unit. A unit of padding follows
/// every few rows, as many as a unit has elements: lanes that gather neighbouring units of a column
/// then read from different banks.
template <class T>
struct SwapUnits {
  static constexpr int size = static_cast<int>(sizeof(T));
  static constexpr int of_unit = size >= 4 ? 1 : 4 / size;
  using Unit = std::conditional_t<of_unit == 1, T, std::uint32_t>;
  static constexpr int unit = static_cast<int>(sizeof(Unit));
  static constexpr int side = size == 1 ? 128 : size <= 4 ? 64 : 32;
  static constexpr int threads = 256;
  static constexpr int warps = threads / 32;
  static constexpr int min_blocks = 4;
  static constexpr int row_bytes = side * size + (of_unit > 1 ? unit : 0);
  static constexpr unsigned tile_bytes = side * row_bytes + side / of_unit * unit;
  static constexpr unsigned shared_bytes = 2 * tile_bytes;
  // Rows that are so far apart begin at the same phase.
  static_assert(warps % of_unit == 0);

  template <class Ctx>
  CT_DEVICE static void run(Ctx& ctx, const SwapArgs& a) {
    const auto shared = ctx.template dynamic_shared<std::uint8_t>();
    const SwapPlace p = swap_place(a, ctx.block_id().x, side);
    if (p.first_row >= a.extent) return;
    const int rows = inside(a, p.first_row);
    const int columns = inside(a, p.first_column);
    load(ctx, a, p.lower, rows, columns, shared);
    if (!p.diagonal) load(ctx, a, p.upper, columns, rows, shared + tile_bytes);
    ctx.commit_async();
    ctx.template wait_async<0>();

    ctx.barrier();

    store(ctx, a, p.upper, columns, rows, shared, p.lower);
    if (!p.diagonal) store(ctx, a, p.lower, rows, columns, shared + tile_bytes, p.upper);
  }

 private:
  CT_DEVICE static int inside(const SwapArgs& a, std::uint32_t first) {
    const std::uint32_t left = a.extent - first;
    return left < side ? static_cast<int>(left) : side;
  }

  /// Where row n begins, without its phase.
  CT_DEVICE static int row_at(int n) { return n * row_bytes + n / of_unit * unit; }
  CT_DEVICE static int phase(const std::byte* p) {
    return static_cast<int>(reinterpret_cast<std::uintptr_t>(p) & (unit - 1));
  }

  // What a row has: elements before the first whole unit, and whole units.
  struct Row {
    int head;
    int units;
  };
  CT_DEVICE static Row row_of(const std::byte* begin, int elements) {
    if constexpr (of_unit == 1) return {0, elements};
    const int head = (-phase(begin) & (unit - 1)) / size;
    return head < elements ? Row{head, (elements - head) / of_unit} : Row{elements, 0};
  }

  // Calls visit(row, element, active) for the elements beside whole units: each row has lanes for
  // those before and for those behind.
  template <class Ctx, class Visit>
  CT_DEVICE static void for_edges(Ctx& ctx, const std::byte* tile, std::int64_t stride, int rows,
                                  int elements, const Visit& visit) {
    constexpr int lanes = 2 * of_unit;
    constexpr int at_once = threads / lanes;
    const int i = ctx.lane() % lanes;
    CT_UNROLL
    for (int first = 0; first < side; first += at_once) {
      const int n = first + thread_of(ctx) / lanes;
      const Row row = row_of(tile + n * stride, elements);
      const int element = i < of_unit ? i : row.head + row.units * of_unit + i - of_unit;
      const bool active = n < rows && (i < of_unit ? i < row.head : element < elements);
      visit(n, element, active);
    }
  }

  template <class Ctx>
  CT_DEVICE static void load(Ctx& ctx, const SwapArgs& a, const std::byte* tile, int rows,
                             int elements, SharedPointer<std::uint8_t> to) {
    CT_PARTLY_UNROLL
    for (int n = ctx.warp(); n < rows; n += warps) {
      const std::byte* const begin = tile + n * a.row_stride;
      const Row row = row_of(begin, elements);
      const auto from = reinterpret_cast<const Unit*>(begin + row.head * size);
      const auto at = cast<Unit>(to + (row_at(n) + phase(begin) + row.head * size));
      CT_UNROLL
      for (int first = 0; first < side / of_unit; first += 32) {
        const int u = first + ctx.lane();
        ctx.copy_async_if(u < row.units, at + u, from + u);
      }
    }
    if constexpr (of_unit > 1) {
      for_edges(ctx, tile, a.row_stride, rows, elements, [&](int n, int element, bool active) {
        const std::byte* const begin = tile + n * a.row_stride;
        const T v = ctx.load_if(active, reinterpret_cast<const T*>(begin) + element);
        ctx.store_if(active, cast<T>(to + (row_at(n) + phase(begin))) + element, v);
      });
    }
  }

  // `source`: where the tile was whose rows lie at `from`.
  template <class Ctx>
  CT_DEVICE static void store(Ctx& ctx, const SwapArgs& a, std::byte* tile, int rows, int elements,
                              SharedPointer<std::uint8_t> from, const std::byte* source) {
    const auto element_at = [&](int n, int m) {
      return cast<T>(from + (row_at(n) + phase(source + n * a.row_stride))) + m;
    };
    std::byte* const begin = tile + ctx.warp() * a.row_stride;
    const Row row = row_of(begin, elements);  // of all rows of this warp
    CT_UNROLL
    for (int first = 0; first < side / of_unit; first += 32) {
      const int u = first + ctx.lane();
      if (u >= row.units) continue;
      SharedPointer<T> column[of_unit];
      CT_UNROLL
      for (int i = 0; i < of_unit; ++i) {
        column[i] = element_at(row.head + u * of_unit + i, ctx.warp());
      }
      std::byte* to = begin + (row.head * size + u * unit);
      CT_PARTLY_UNROLL
      for (int m = 0; m < rows - ctx.warp(); m += warps) {
        Unit v{};
        CT_UNROLL
        for (int i = 0; i < of_unit; ++i) {
          const T one = ctx.load(column[i] + m);
          if constexpr (of_unit == 1) {
            v = one;
          } else {
            v |= static_cast<Unit>(one) << (8 * size * i);
          }
        }
        ctx.store(reinterpret_cast<Unit*>(to), v);
        to += warps * a.row_stride;
      }
    }
    if constexpr (of_unit > 1) {
      for_edges(ctx, tile, a.row_stride, rows, elements, [&](int m, int n, bool active) {
        const T v = ctx.load_if(active, element_at(n, m));
        ctx.store_if(active, reinterpret_cast<T*>(tile + m * a.row_stride) + n, v);
      });
    }
  }
};

template <class T>
struct SwapWords {
  static constexpr int side = 32;
  static constexpr int threads = 256;
  static constexpr int rows_at_once = threads / side;
  static constexpr int min_blocks = 4;
  using Map = Padded<side, side, 1>;
  static constexpr int tile_elements = static_cast<int>(Map::required_span_size());
  static constexpr unsigned shared_bytes = 2U * tile_elements * sizeof(T);

  template <class Ctx>
  CT_DEVICE static void run(Ctx& ctx, const SwapArgs& a) {
    const auto shared = ctx.template dynamic_shared<T>();
    const SwapPlace p = swap_place(a, ctx.block_id().x, side);
    if (p.first_row >= a.extent) return;
    load(ctx, a, p.lower, p.first_row, p.first_column, true, shared);
    load(ctx, a, p.upper, p.first_column, p.first_row, !p.diagonal, shared + tile_elements);

    ctx.barrier();

    store(ctx, a, p.upper, p.first_column, p.first_row, true, shared);
    store(ctx, a, p.lower, p.first_row, p.first_column, !p.diagonal, shared + tile_elements);
  }

 private:
  template <class Ctx>
  CT_DEVICE static void load(Ctx& ctx, const SwapArgs& a, const std::byte* tile,
                             std::uint32_t first_row, std::uint32_t first_column, bool active,
                             SharedPointer<T> to) {
    const int column = thread_of(ctx) % side;
    const int row = thread_of(ctx) / side;
    T v[side / rows_at_once];
    CT_UNROLL
    for (int k = 0; k < side / rows_at_once; ++k) {
      const int r = row + k * rows_at_once;
      const bool inside = active && first_row + static_cast<unsigned>(r) < a.extent &&
                          first_column + static_cast<unsigned>(column) < a.extent;
      v[k] = ctx.load_if(
          inside, reinterpret_cast<const T*>(tile + r * a.row_stride + column * a.column_stride));
    }
    CT_UNROLL
    for (int k = 0; k < side / rows_at_once; ++k) {
      ctx.store_if(active, to + Map::at(row + k * rows_at_once, column), v[k]);
    }
  }

  template <class Ctx>
  CT_DEVICE static void store(Ctx& ctx, const SwapArgs& a, std::byte* tile, std::uint32_t first_row,
                              std::uint32_t first_column, bool active, SharedPointer<T> from) {
    const int column = thread_of(ctx) % side;
    const int row = thread_of(ctx) / side;
    CT_UNROLL
    for (int k = 0; k < side / rows_at_once; ++k) {
      const int r = row + k * rows_at_once;
      const bool inside = active && first_row + static_cast<unsigned>(r) < a.extent &&
                          first_column + static_cast<unsigned>(column) < a.extent;
      const T v = ctx.load_if(inside, from + Map::at(column, r));
      ctx.store_if(inside, reinterpret_cast<T*>(tile + r * a.row_stride + column * a.column_stride),
                   v);
    }
  }
};

template <class T>
struct SwapRuns {
  static constexpr int side = 16;
  static constexpr int threads = 256;
  static constexpr int min_blocks = 4;
  static constexpr unsigned shared_bytes = 0;
  static constexpr std::uint32_t most_words = 64;  ///< of an element, that a block takes

  template <class Ctx>
  CT_DEVICE static void run(Ctx& ctx, const SwapArgs& a) {
    constexpr int at_once = 4;
    const SwapPlace p = swap_place(a, ctx.block_id().x, side);
    if (p.first_row >= a.extent) return;
    const std::uint32_t of_part = a.words_of_part.divisor;
    const std::uint32_t all = side * side * of_part;
    CT_NO_UNROLL
    for (std::uint32_t first = 0; first < all; first += threads * at_once) {
      T *one[at_once], *other[at_once], v[at_once], w[at_once];
      bool mine[at_once];
      CT_UNROLL
      for (int k = 0; k < at_once; ++k) {
        const std::uint32_t t = first + static_cast<std::uint32_t>(k * threads + thread_of(ctx));
        const std::uint32_t element = a.words_of_part.quotient(t);
        const std::uint32_t word = p.part * of_part + t - element * of_part;
        const std::uint32_t row = element / side;
        const std::uint32_t column = element % side;
        mine[k] = t < all && word < a.words && p.first_row + row < a.extent &&
                  p.first_column + column < a.extent && (!p.diagonal || row > column);
        one[k] =
            reinterpret_cast<T*>(p.lower + row * a.row_stride + column * a.column_stride) + word;
        other[k] =
            reinterpret_cast<T*>(p.upper + column * a.row_stride + row * a.column_stride) + word;
        v[k] = ctx.load_if(mine[k], one[k]);
        w[k] = ctx.load_if(mine[k], other[k]);
      }
      CT_UNROLL
      for (int k = 0; k < at_once; ++k) {
        ctx.store_if(mine[k], one[k], w[k]);
        ctx.store_if(mine[k], other[k], v[k]);
      }
    }
  }
};

template <class Visit>
void dispatch(const SwapArgs& a, Visit&& visit) {
  with_element(a.word_bytes, [&]<class T>(T) {
    if (a.words > 1) {
      visit.template operator()<SwapRuns<T>>();
    } else if (a.way == SwapWay::wide) {
      visit.template operator()<SwapTiles<T, sizeof(T) <= 2>>();
    } else if (a.way == SwapWay::vectors) {
      visit.template operator()<SwapTiles<T>>();
    } else if (a.way == SwapWay::units) {
      visit.template operator()<SwapUnits<T>>();
    } else {
      visit.template operator()<SwapWords<T>>();
    }
  });
}

}  // namespace cornerturn::kernels
