// Which kernel makes blocks of an array, or an array of blocks, and how it is launched: quantise
// for matrices of f32, f16 and bf16 whose rows are whole vectors and whose results are packed,
// dequantise for the way back to such matrices, blocks for everything else. Plain host code.
#pragma once

#include <variant>
#include <vector>

#include "core/blocks.hpp"
#include "kernels/blocks.hpp"
#include "kernels/dequantise.hpp"
#include "kernels/quantise.hpp"

namespace cornerturn::plan::gpu {

/// One launch.
struct BlocksWork {
  std::variant<kernels::QuantiseArgs, kernels::DequantiseArgs, kernels::BlocksArgs> args;
  Launch launch;

  /// "quantise", "dequantise" or "blocks".
  const char* kernel() const;
};

/// Launches that quantise `plain` to `blocks` and, of a matrix, with blocks along its other mode to
/// `turned` as well: from one reading where quantise takes both, else one launch each. An array
/// without elements needs none. Addresses are those of the arguments.
std::vector<BlocksWork> quantise_works(const PlainArray& plain, const BlockArrays& blocks,
                                       const BlockArrays* turned, const BlockRule& rule);
/// The way back.
BlocksWork dequantise_work(const PlainArray& plain, const BlockArrays& blocks,
                           values::BlockFormat format);

/// Fills in what follows from the other arguments.
Launch prepare_quantise(kernels::QuantiseArgs& args);
Launch prepare_dequantise(kernels::DequantiseArgs& args);

}  // namespace cornerturn::plan::gpu
