// The layouts of the CuTe rungs by name: which tile, which thread takes what, and where the tile's
// elements lie in shared memory. Coordinates are (row, col) of the source, unless it says
// otherwise.
#pragma once

#include <cute/tensor.hpp>

#include "workshop/cuda/cute/rungs.hpp"

namespace cornerturn::with_cute {

using namespace cute;

/// 8 x 32 threads; a warp lies along a row.
using Rows8x32 = Layout<Shape<_8, _32>, Stride<_32, _1>>;

struct NaiveSquare {
  using Block = Shape<_64, _64>;
  using Threads = Rows8x32;
};
struct NaiveWide {
  using Block = Shape<_32, _1024>;
  using Threads = Rows8x32;
};

/// A tile that is staged in shared memory, one buffer seen twice: SourceView at (row, col) and
/// DestinationView at (col, row) are the same element.
struct Smem {
  using Block = Shape<_32, _32>;
  using Threads = Rows8x32;
  using SourceView = Layout<Shape<_32, _32>, Stride<_32, _1>>;
  using DestinationView = Layout<Shape<_32, _32>, Stride<_1, _32>>;
};

/// Rows are 33 elements apart: in the destination's view, columns are. The pair (32,33):(33,1) and
/// (32,33):(1,32) looks as well, but its two members put an element in two places.
struct SmemPad {
  using Block = Shape<_32, _32>;
  using Threads = Rows8x32;
  using SourceView = Layout<Shape<_32, _32>, Stride<Int<33>, _1>>;
  using DestinationView = Layout<Shape<_32, _32>, Stride<_1, Int<33>>>;
};

/// The swizzle comes after the layout, and other coordinates come before it. So the destination's
/// view is the source's with the transposed tile in front, and the swizzle stays where it is.
template <class Swizzle, class Side>
struct SmemSwizzle {
  using Block = Shape<Side, Side>;
  using Threads = Rows8x32;
  using Rows = Layout<Block, Stride<Side, _1>>;        // (row, col) -> place before the swizzle
  using Transposed = Layout<Block, Stride<Side, _1>>;  // (col, row) -> number of (row, col)
  using SourceView = decltype(composition(Swizzle{}, Rows{}));
  using DestinationView = decltype(composition(SourceView{}, Transposed{}));
};
using SmemSwizzle32 = SmemSwizzle<Swizzle<5, 0, 5>, _32>;
using SmemSwizzleTwoWay = SmemSwizzle<Swizzle<5, 0, 5>, _64>;
using SmemSwizzle64 = SmemSwizzle<Swizzle<5, 0, 6>, _64>;

/// Rows of 128 bytes, the 16-byte chunk of each xor-ed with row % 8: what TMA calls SWIZZLE_128B.
using Sw128 = GMMA::Layout_K_SW128_Atom<Element>;

struct TmaCopy {
  using Block = Shape<_32, _128>;
  using Tile = Layout<Block, Stride<_128, _1>>;
};

struct TmaStore {
  using Block = Shape<_32, _64>;
  using Threads = Layout<Shape<_16, _16>>;  // a warp: 16 rows of two chunks, whole sectors
  using Values = Layout<Shape<_1, _4>>;     // neighbours in a row
  using DestinationTile = decltype(tile_to_shape(Sw128{}, Shape<_64, _32>{}));  // (col, row)
  using Transposed = Layout<Block, Stride<_64, _1>>;  // (row, col) -> number of (col, row)
};

struct Tma {
  using Block = Shape<_64, _64>;
  using SourceTile = decltype(tile_to_shape(Sw128{}, Shape<_64, _64>{}));       // (row, col)
  using DestinationTile = decltype(tile_to_shape(Sw128{}, Shape<_64, _64>{}));  // (col, row)
  using Transposed = Layout<Block, Stride<_64, _1>>;  // (row, col) -> number of (col, row)

  /// The scalar corner turn: a warp takes 32 rows of one column.
  using Columns = Layout<Shape<_32, _8>>;

  /// The turn by blocks of 4 x 4, of which there are 16 x 16: which thread takes which. The layout
  /// gives thread t of quarter-warp q the block (t, q) of 8 x 8; the swizzle makes it (t, t ^ q).
  using Diagonal = decltype(composition(
      Swizzle<3, 0, -4>{}, Layout<Shape<_8, _8, _2, _2>, Stride<_1, _16, _8, _128>>{}));
};

}  // namespace cornerturn::with_cute
