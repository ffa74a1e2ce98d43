// pack_lines: destination lines put together in registers, each from a few vectors of the source.
// For arrays of structures, either way, and for batches of very small matrices.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/problem.hpp"
#include "plan/cost.hpp"
#include "plan/cpu/stores.hpp"
#include "plan/family.hpp"

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
  /// Each stream has a recipe of its own, made for where its source begins within a line, so that
  /// vectors are loaded from whole lines. Else recipes hold for any place of the source, and
  /// streams share them.
  bool aligned = false;
  Stores stores = Stores::regular;

  friend bool operator==(const PackLinesConfig&, const PackLinesConfig&) = default;
};

namespace pack_lines {

/// Steps of a recipe (one vector loaded and permuted) that a thread has room for.
inline constexpr int max_steps = 512;
/// Runs of the destination that one piece of work may write alternately, and how many of them can
/// have a recipe each.
inline constexpr int max_streams = 64;
inline constexpr int max_recipes = 16;
/// Bytes of the longest atom.
inline constexpr std::int64_t max_atom_bytes = 2048;

/// What things cost one thread: measured with arrays of structures and batches of small matrices on
/// a Zen 4 processor.
struct Costs {
  Cost recipe_line_ns{"recipe_line_ns", 100, "making a line of a recipe"};
  Cost run_ns{"run_ns", 45,
              "the ends of a run of the destination, and taking it up for each chunk"};
  Cost line_ns{"line_ns", 2.392, "a line stored, from memory to memory"};
  Cost around_line_ns{"around_line_ns", 1.6, "the same, stored around the caches"};
  Cost step_ns{"step_ns", 0.91, "a vector loaded and permuted"};
  Cost index_ns{"index_ns", 0.1, "more for a vector whose recipe has no place in registers"};
  Cost cached_line_ns{"cached_line_ns", 0.3421, "as line_ns, in the caches"};
  Cost cached_step_ns{"cached_step_ns", 0.3404, "as step_ns, in the caches, of few streams"};
  Cost far_step_ns{"far_step_ns", 0.4561, "the same of many, which jump from set to set"};

  friend bool operator==(const Costs&, const Costs&) = default;
};

struct Family {
  static constexpr std::string_view name = "pack_lines";
  static constexpr std::string_view idea = "whole lines put together in registers";
  static constexpr Operations operations{Operation::move};
  using Costs = pack_lines::Costs;
  using Config = PackLinesConfig;

  static const char* why_not(const Problem& normal, const CpuInfo& cpu);
  static void configure(const Problem& normal, const CpuInfo& cpu, const Add<Config>& add);
  static double cost_ns(const Config& config, const Problem& normal, const CpuInfo& cpu,
                        const Costs& costs, int dst_phase);
  static std::string describe(const Config& config, const Problem& normal);
};

}  // namespace pack_lines
}  // namespace cornerturn::plan
