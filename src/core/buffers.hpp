// Where the arrays of a problem lie, when a plan runs: all operands of all operations.
#pragma once

#include <optional>

#include "core/lists.hpp"
#include "core/values.hpp"

namespace cornerturn {

/// Replaces the alpha of a problem whose alpha was not known when the plan was made, and was given
/// as some number that is neither 0 nor 1. All values then go through the arithmetic, also with a
/// factor of 1.
struct LateFactor {
  double alpha = 1;
  float addend = 0;  ///< is added to the product, for values that become integers
};

/// The arrays that blocks need beside the source and the destination.
struct BlockBuffers {
  void* scales = nullptr;  ///< of blocks that have none inside: written when values are quantised,
                           ///< else only read
  void* second = nullptr;  ///< the blocks along the other mode, where the problem asks for them
  void* second_scales = nullptr;
  /// By what scales of E4M3 are multiplied before they are rounded: one number for the tensor.
  float tensor_scale = 1;
};

struct Buffers {
  void* dst = nullptr;
  const void* src = nullptr;
  Vectors vectors = {};  ///< where the problem has a scale or a bias
  BlockBuffers blocks = {};
  ListTables lists = {};
  std::optional<LateFactor> late = {};
  /// Memory beside the arrays, as much as the plan says, on a GPU. Null: whoever runs the plan
  /// takes it from the stream's pool.
  std::byte* workspace = nullptr;
};

}  // namespace cornerturn
