// The passes of a permutation in place, each with the plans of the moves that it consists of.
#pragma once

#include <cstdint>
#include <vector>

#include "core/in_place.hpp"
#include "plan/cpu/box_moves.hpp"

namespace cornerturn::plan {

struct PlannedPass {
  in_place::Pass pass;
  /// Panels that are copied to the workspace at a time, and transposed from there into the array.
  std::int64_t group = 1;
  /// Bytes from row to row of a panel in the workspace, where the registers transpose it; else 0.
  std::int64_t pitch = 0;
  /// A swap: the one of the swap. Panels that the registers do not transpose: those of a whole
  /// group, and of the last one. What is restored: from the workspace to the array.
  BoxMoves moves;

  friend bool operator==(const PlannedPass&, const PlannedPass&) = default;
};

struct PlannedStep {
  in_place::Way way;
  std::int64_t batch = 1;  ///< so many matrices, one after the other
  std::int64_t matrix_bytes = 0;
  std::vector<PlannedPass> passes;

  friend bool operator==(const PlannedStep&, const PlannedStep&) = default;
};

struct PlannedPasses {
  in_place::Limits limits;
  std::int64_t workspace = 0;
  double passes = 0;  ///< times that every byte is read and written, more where runs are short
  std::vector<PlannedStep> steps;

  friend bool operator==(const PlannedPasses&, const PlannedPasses&) = default;
};

}  // namespace cornerturn::plan
