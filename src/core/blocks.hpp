// Blocks of values that share a scale, as a part of a problem. Strides are in bytes, a list of them
// has one for each mode of the problem, and then one for the mode of its list, where it has one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "core/block_format.hpp"
#include "core/values.hpp"
#include "cornerturn/element_type.hpp"
#include "cornerturn/view.hpp"

namespace cornerturn {

struct Problem;
enum class Places : std::uint8_t;

/// How blocks are made.
struct BlockRule {
  BlockFormat format = BlockFormat::q8_0;
  BlockScale scale = BlockScale::floor;
  /// How values are rounded once they are scaled. Stochastic: the place of a value is where it lies
  /// from the first of the result, in values; `seed` is that of values/stochastic.hpp.
  Rounding rounding = Rounding::nearest_even;
  std::uint64_t seed = 0;

  friend bool operator==(const BlockRule&, const BlockRule&) = default;
};

/// Where the blocks of an array lie, from where they begin.
struct BlockLayout {
  int axis = 0;  ///< the mode along which values share a scale
  /// At the axis from one unit to the next: a packed block, a byte of two values, or a value.
  Extents value_strides;
  /// At the axis from one scale to the next. Packed blocks have none: their scales are inside them.
  ///   packed_4     At the axis from four scales to the next four.
  ///   tiles_128x4  At the axis from one tile to the next, at `across` from 128 lines to the next.
  /// At `across`, where a block has several lines, from one block to the next.
  Extents scale_strides;
  /// The mode of the lines of a block that has several, or of the lines of tiles; -1: none.
  int across = -1;
  ScaleOrder order = ScaleOrder::strided;

  friend bool operator==(const BlockLayout&, const BlockLayout&) = default;
};

/// What a problem whose one side holds blocks knows of them. A problem that quantises has the plain
/// strides as its source strides and the value strides as its destination strides; one that
/// dequantises has them the other way round.
struct Blocks {
  BlockRule rule;
  bool back = false;  ///< dequantises
  BlockLayout first;
  /// A matrix may be quantised once more from the same read, with blocks along its other mode.
  std::optional<BlockLayout> second;

  const BlockRow& row() const { return row_of(rule.format); }
  friend bool operator==(const Blocks&, const Blocks&) = default;
};

/// The type of the elements that the value strides move between.
ElementType type_of_blocks(BlockFormat format);
/// "q8_0", "mxfp8_e4m3": the name in the table.
std::string name_of(BlockFormat format);

/// The problem of making `blocks` of an array of plain values, or values of the blocks. `shape` and
/// `strides` are the array's.
Problem block_problem(ElementType plain, const Extents& shape, const Extents& strides,
                      const Blocks& blocks);

/// The same, with the places along one axis of the plain array in a table: its mode stands behind
/// all others.
Problem with_listed_axis(Problem problem, int axis, Places places);

/// The problem of finding the largest magnitude of an array.
Problem reduce_problem(ElementType type, const Extents& shape, const Extents& strides);

/// The type and the strides of the plain values, in a problem whose one side holds blocks.
ElementType plain_type(const Problem& problem);
std::int64_t plain_stride(const Problem& problem, int mode);

}  // namespace cornerturn
