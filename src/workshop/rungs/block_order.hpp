// `smem_chunk_xor` with its blocks in another order. Blocks run roughly in the order of their
// numbers, and those that run together share the L2 cache: an order in which they write
// neighbouring sectors merges partly filled lines, one that jumps about does not. Orders of 4 x 4
// tiles:
//
//   rows           columns        grouped (2)    morton         hilbert
//    0  1  2  3     0  4  8 12     0  2  4  6     0  1  4  5     0  1 14 15
//    4  5  6  7     1  5  9 13     1  3  5  7     2  3  6  7     3  2 13 12
//    8  9 10 11     2  6 10 14     8 10 12 14     8  9 12 13     4  7  8 11
//   12 13 14 15     3  7 11 15     9 11 13 15    10 11 14 15     5  6  9 10
//
// Morton and Hilbert fill squares whose side is a power of two; a matrix is covered by such squares
// along its longer side, and the blocks that fall outside it end at once.
#pragma once

#include "workshop/rungs/smem_chunk_xor.hpp"

namespace cornerturn::ladder {

enum class Order { rows, columns, grouped, morton, hilbert };

/// Position of a block among the tiles of the source.
struct TileIndex {
  std::uint32_t row = 0;
  std::uint32_t col = 0;
  friend constexpr bool operator==(const TileIndex&, const TileIndex&) = default;
};

namespace detail {

CT_HOST_DEVICE constexpr TileIndex morton(std::uint32_t n) {
  TileIndex at;
  for (std::uint32_t bit = 0; bit < 16; ++bit) {
    at.col |= (n >> (2 * bit) & 1U) << bit;
    at.row |= (n >> (2 * bit + 1) & 1U) << bit;
  }
  return at;
}

// Each quarter is the whole again, the first mirrored at one diagonal, the last at the other.
CT_HOST_DEVICE constexpr TileIndex hilbert(std::uint32_t n, std::uint32_t side) {
  std::uint32_t x = 0;
  std::uint32_t y = 0;
  for (std::uint32_t s = 1; s < side; s *= 2, n /= 4) {
    const std::uint32_t right = (n / 2) & 1U;
    const std::uint32_t down = (n ^ right) & 1U;
    if (down == 0) {
      if (right == 1) {
        x = s - 1 - x;
        y = s - 1 - y;
      }
      const std::uint32_t swapped = x;
      x = y;
      y = swapped;
    }
    x += s * right;
    y += s * down;
  }
  return {y, x};
}

}  // namespace detail

template <Order order>
struct BlockOrder {
  static constexpr const char* name = order == Order::rows      ? "block_order_rows"
                                      : order == Order::columns ? "block_order_columns"
                                      : order == Order::grouped ? "block_order_grouped"
                                      : order == Order::morton  ? "block_order_morton"
                                                                : "block_order_hilbert";
  static constexpr const char* shows = "smem_chunk_xor, its blocks in another order";
  static constexpr bool transposes = true;
  template <class T>
  static constexpr bool takes = sizeof(T) == 4;
  template <class T>
  using SharedMap = typename ChunkTile<T>::Map;

  static constexpr bool curve = order == Order::morton || order == Order::hilbert;
  static constexpr std::uint32_t group = 8;  // tile rows of a group

  /// The side of the squares that a curve fills: at least the shorter side of the matrix.
  CT_HOST_DEVICE static constexpr std::uint32_t square(std::uint32_t down, std::uint32_t across) {
    const std::uint32_t shorter = down < across ? down : across;
    std::uint32_t side = 1;
    while (side < shorter) side *= 2;
    return side;
  }

  CT_HOST_DEVICE static constexpr std::uint64_t blocks(std::uint32_t down, std::uint32_t across) {
    if (!curve) return std::uint64_t{down} * across;
    const std::uint64_t side = square(down, across);
    const std::uint64_t longer = down < across ? across : down;
    return (longer + side - 1) / side * side * side;
  }

  CT_HOST_DEVICE static constexpr TileIndex tile(std::uint32_t block, std::uint32_t down,
                                                 std::uint32_t across) {
    if constexpr (order == Order::rows) return {block / across, block % across};
    if constexpr (order == Order::columns) return {block % down, block / down};
    if constexpr (order == Order::grouped) {
      const std::uint32_t first = block / (group * across) * group;
      const std::uint32_t high = down - first < group ? down - first : group;
      const std::uint32_t rest = block - first * across;
      return {first + rest % high, rest / high};
    }
    const std::uint32_t side = square(down, across);
    const std::uint32_t number = block / (side * side);
    const std::uint32_t n = block % (side * side);
    TileIndex at = order == Order::morton ? detail::morton(n) : detail::hilbert(n, side);
    (down < across ? at.col : at.row) += number * side;
    return at;
  }

  template <class T>
  static constexpr Launch launch(const MatrixArgs<T>& a) {
    using Chunks = ChunkTile<T>;
    const auto down = static_cast<std::uint32_t>(tiles_of(a.rows, Chunks::side));
    const auto across = static_cast<std::uint32_t>(tiles_of(a.cols, Chunks::side));
    const std::uint64_t count = down == 0 || across == 0 ? 0 : blocks(down, across);
    return {grid_of(static_cast<std::int64_t>(count)), {Chunks::threads, 1, 1}, Chunks::bytes};
  }

  template <class T, class Ctx>
  CT_DEVICE static void run(Ctx& ctx, const MatrixArgs<T>& a) {
    using Chunks = ChunkTile<T>;
    const auto down = static_cast<std::uint32_t>(tiles_of(a.rows, Chunks::side));
    const auto across = static_cast<std::uint32_t>(tiles_of(a.cols, Chunks::side));
    const TileIndex at = tile(ctx.block_id().x, down, across);
    if (at.row >= down || at.col >= across) return;
    Chunks::move(ctx, a,
                 {std::int64_t{at.row} * Chunks::side, std::int64_t{at.col} * Chunks::side});
  }
};

}  // namespace cornerturn::ladder
