// The warp requests whose cost is measured on GPUs and compared with the model: every width, loads
// and stores, strides, offsets, broadcasts, pairs, masks, merge candidates, swizzles, random ones.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "maps/banks.hpp"

namespace cornerturn::bench {

/// The instruction that issues a pattern. Wavefronts are counted for those that reach shared
/// memory, sectors and lines for those that reach global memory, both for asynchronous copies.
enum class Instruction {
  shared_load,
  shared_store,
  ldmatrix,
  stmatrix,
  global_load,
  global_store,
  async_copy,         ///< cp.async.ca, through the L1 cache
  async_copy_bypass,  ///< cp.async.cg, past it: 16 bytes only
};

std::string_view name_of(Instruction instruction);

constexpr bool is_async(Instruction instruction) {
  return instruction == Instruction::async_copy || instruction == Instruction::async_copy_bypass;
}

struct Pattern {
  std::string name;  ///< unique among all patterns
  Instruction instruction = Instruction::shared_load;
  /// Addresses are offsets from a base that is a multiple of 1024 bytes. Inactive lanes have 0.
  WarpRequest request;
  std::array<std::uint64_t, warp_lanes> source = {};  ///< async copies: offsets in global memory
};

/// Shared patterns stay below this many bytes, global ones below `global_span`.
inline constexpr std::uint64_t shared_span = 40 * 1024;
inline constexpr std::uint64_t global_span = 1024 * 1024;

/// One list in one order on every machine.
std::vector<Pattern> access_patterns();

}  // namespace cornerturn::bench
