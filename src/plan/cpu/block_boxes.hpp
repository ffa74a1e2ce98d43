// How the blocks kernel cuts a problem into boxes, how a box lies in its stage, and how it is moved
// there or from there.
#pragma once

#include <cstdint>

#include "plan/cpu/box_grid.hpp"
#include "plan/cpu/box_moves.hpp"
#include "plan/cpu/spread.hpp"

namespace cornerturn::plan {

struct BlockBoxes {
  /// How far a box reaches along each mode of the problem: a multiple of a quantisation block where
  /// the mode has such blocks, unless a box takes all of the mode.
  Extents extent;
  /// Plain values to the stage when they are quantised, else from there: of one step of the list
  /// where the problem has one.
  BoxMoves plain;
  BoxMoves codes;         ///< codes the other way; blocks whose scale is inside need none
  BoxMoves transposed;    ///< where there is a second result: from its first stage to its own
  BoxMoves second_codes;  ///< and its values from there

  friend bool operator==(const BlockBoxes&, const BlockBoxes&) = default;
};

/// Boxes of these extents, counted in the order of the destination.
BoxGrid block_grid(const Extents& extent, const Problem& normal);

/// A box in a stage: one stripe after the other, the last of the other modes fastest. There are
/// whole quantisation blocks there.
struct BlockStage {
  BoxGrid::PerMode stride;  ///< of each mode, in elements
  std::int64_t stripes = 1;
  std::int64_t pitch = 0;  ///< elements of a stripe with those that fill its last block
  bool is_padded = false;  ///< the box has fewer elements than its blocks

  std::int64_t elements() const { return stripes * pitch; }
};
/// The stage of a box with so many elements along each of `rank` modes.
BlockStage block_stage(const BoxGrid::PerMode& count, int rank, const BlockLayout& layout,
                       const BlockRow& row);

/// All moves of the boxes of these extents, for a problem that is not empty.
BlockBoxes plan_block_boxes(Extents extent, const BlockModes& modes, const CpuInfo& cpu);

}  // namespace cornerturn::plan
