// boxes: boxes of rows or of single elements, each copied from its place to its place, which tables
// tell. For many short modes, and for rows of a few to some hundred bytes.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/problem.hpp"
#include "plan/cost.hpp"
#include "plan/cpu/box_grid.hpp"
#include "plan/family.hpp"

namespace cornerturn::plan {

struct CpuInfo;

/// An *atom* is what both sides keep together: a row that they share, or an element.
struct BoxesConfig {
  struct Part {
    std::int32_t mode = -1;
    std::int32_t extent = 1;

    friend bool operator==(const Part&, const Part&) = default;
  };
  static constexpr int most_parts = 16;

  std::int64_t atom_bytes = 1;
  int outer_rank = 0;                    ///< modes beside those of an atom
  std::array<Part, most_parts> parts{};  ///< modes of which a box has more than one index
  int part_count = 0;
  std::int64_t src_run = 0;  ///< bytes of a box that lie side by side, about
  std::int64_t dst_run = 0;
  std::int64_t boxes_a_piece = 1;

  friend bool operator==(const BoxesConfig&, const BoxesConfig&) = default;
};

namespace boxes {

/// A box has at most so many atoms.
inline constexpr std::int64_t most_atoms = 16 << 10;
/// Longer rows are no atoms.
inline constexpr std::int64_t longest_atom = 512;

/// Boxes that read the same as the one before are copied from it where at least so many bytes of
/// the destination lie side by side, and so many atoms.
inline constexpr std::int64_t least_copied = 32;
inline constexpr std::int64_t least_atoms_copied = 4;
/// So many boxes read the same and are copied, but for the first; 1: none is copied.
double boxes_alike(const BoxesConfig& config, const Problem& normal);

/// The boxes over the outer modes, and the problem without its run.
BoxGrid grid_of(const BoxesConfig& config, const Problem& normal);

/// What things cost one thread.
struct Costs {
  Cost start_ns{"start_ns", 146.9, "the call, with its tables"};
  Cost box_ns{"box_ns", 52.31, "a box: its place, and its share of the tables"};
  Cost atom_ns{"atom_ns", 0.9792, "an atom: its place, its load and its store"};
  Cost narrow_atom_ns{"narrow_atom_ns", 0.659, "the same of one or two bytes"};
  Cost line_ns{"line_ns", 6.483, "a line from memory to memory"};
  Cost cached_line_ns{"cached_line_ns", 3.028, "the same in the second-level cache"};
  Cost end_ns{"end_ns", 5.359, "the ends of a run of either side: lines that come again"};
  Cost overlap{"overlap", 0.25, "of the shorter of work and lines, what the longer one leaves", 1};

  friend bool operator==(const Costs&, const Costs&) = default;
};

struct Family {
  static constexpr std::string_view name = "boxes";
  static constexpr std::string_view idea = "boxes that both sides read and write in whole lines";
  static constexpr Operations operations{Operation::move};
  using Costs = boxes::Costs;
  using Config = BoxesConfig;

  static const char* why_not(const Problem& normal, const CpuInfo& cpu);
  static void configure(const Problem& normal, const CpuInfo& cpu, const Costs& costs,
                        const Add<Config>& add);
  static double cost_ns(const Config& config, const Problem& normal, const CpuInfo& cpu,
                        const Costs& costs);
  static std::string describe(const Config& config, const Problem& normal);
};

}  // namespace boxes
}  // namespace cornerturn::plan
