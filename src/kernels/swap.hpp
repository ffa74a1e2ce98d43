// swap: two modes of one extent change places within the array, without any workspace. A block
// takes the tiles (i, j) and (j, i) of a matrix, reads both, and writes each of them, transposed,
// where the other was. A tile of the diagonal changes within itself.
//
//   SwapTiles   elements of 1 to 16 bytes in vectors of 16 bytes, transposed on their way to shared
//               memory as those of `tile` are
//   SwapWords   the same, an element a lane, for rows that begin anywhere
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

struct SwapArgs {
  std::byte* array = nullptr;
  std::int64_t row_stride = 0;  ///< bytes
  std::int64_t column_stride = 0;
  std::uint32_t extent = 0;  ///< elements of either mode
  int word_bytes = 1;
  bool vectors = false;      ///< all rows begin at multiples of 16 bytes, and have whole vectors
  std::uint32_t words = 1;   ///< of an element
  FastDivide words_of_part;  ///< a block of SwapRuns takes so many of them
  FastDivide parts;          ///< that an element has
  FastDivide pairs;          ///< of tiles, of a matrix
  Triangle triangle;
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
  const Triangle::Pair tile = a.triangle.at(number - matrix * a.pairs.divisor);
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

template <class T>
struct SwapTiles {
  static constexpr int size = static_cast<int>(sizeof(T));
  static constexpr int side = size == 1 ? 128 : size <= 4 ? 64 : 32;
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
    } else if (a.vectors) {
      visit.template operator()<SwapTiles<T>>();
    } else {
      visit.template operator()<SwapWords<T>>();
    }
  });
}

}  // namespace cornerturn::kernels
