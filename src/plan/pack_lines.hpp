// pack_lines: destination lines put together in registers, each from a few vectors of the source.
// For arrays of structures, either way, and for batches of very small matrices.
#pragma once

#include <cstdint>
#include <string>

#include "core/problem.hpp"
#include "plan/cpu_info.hpp"

namespace cornerturn::plan {

// The destination's fastest modes form an *atom*: a box, contiguous in the destination, that
// repeats along the mode `walk`. So does the recipe of its lines: which bytes of the source make up
// a line.
//
//   structures -> arrays   modes (3: 4 -> 4N) (N: 12 -> 4)     walk N, the atom is one element
//   arrays -> structures   modes (N: 4 -> 12) (3: 4N -> 4)     walk N, the atom is a structure
//   matrices of 5 x 5      modes (N: 100 -> 100) (5: 4 -> 20) (5: 20 -> 4)
struct PackLinesConfig {
  int walk = 0;               ///< index of the mode walked
  std::int64_t chunk = 1;     ///< atoms at a time: their source stays in the first-level cache
  std::uint64_t streams = 0;  ///< bit i: mode i leads to other bytes of the same source lines
  bool non_temporal = false;

  friend bool operator==(const PackLinesConfig&, const PackLinesConfig&) = default;
};

namespace pack_lines {

/// Steps of a recipe (one vector loaded and permuted) that a thread has room for.
inline constexpr int max_steps = 512;
/// Runs of the destination that one piece of work may write by turns, and how many of them can have
/// a recipe each.
inline constexpr int max_streams = 64;
inline constexpr int max_recipes = 16;
/// Bytes of the longest atom.
inline constexpr std::int64_t max_atom_bytes = 2048;

const char* why_not(const Problem& normal, const CpuInfo& cpu);
PackLinesConfig configure(const Problem& normal, const CpuInfo& cpu);
double cost_ns(const PackLinesConfig& config, const Problem& normal, const CpuInfo& cpu);
std::string describe(const PackLinesConfig& config, const Problem& normal);

}  // namespace pack_lines
}  // namespace cornerturn::plan
