// Blocks of 32 values that share a scale, as a part of a problem. Strides are in bytes, a list of
// them has one for each mode of the problem.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "core/block_format.hpp"
#include "cornerturn/element_type.hpp"
#include "cornerturn/view.hpp"

namespace cornerturn {

struct Problem;

/// How blocks are made.
struct BlockRule {
  BlockFormat format = BlockFormat::q8_0;
  MxScale scale = MxScale::floor;

  friend bool operator==(const BlockRule&, const BlockRule&) = default;
};

/// Where the blocks of an array lie, from where they begin.
struct BlockLayout {
  int axis = 0;  ///< the mode along which 32 values share a scale
  /// At the axis from one block of q8_0 to the next, or from one 8-bit value to the next.
  Extents value_strides;
  /// At the axis from one scale to the next. q8_0 has none: its scales are within the blocks.
  Extents scale_strides;

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

  friend bool operator==(const Blocks&, const Blocks&) = default;
};

/// The type of the elements that the value strides move between: a block of q8_0 as 34 bytes, or an
/// 8-bit value.
ElementType type_of_blocks(BlockFormat format);
/// "q8_0", "mx_e4m3", "mx_e5m2".
const char* name_of(BlockFormat format);

/// The problem of making `blocks` of an array of plain values, or values of the blocks. `shape` and
/// `strides` are the array's.
Problem block_problem(ElementType plain, const Extents& shape, const Extents& strides,
                      const Blocks& blocks);

/// The problem of finding the largest magnitude of an array.
Problem reduce_problem(ElementType type, const Extents& shape, const Extents& strides);

/// The type and the strides of the plain values, in a problem whose one side holds blocks.
ElementType plain_type(const Problem& problem);
std::int64_t plain_stride(const Problem& problem, int mode);

}  // namespace cornerturn
