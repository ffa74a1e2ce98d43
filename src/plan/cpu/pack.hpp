// pack: boxes of the problem, contiguous in pieces on both sides, transposed through a stage. For
// short runs, small extents and many modes; takes every problem.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/problem.hpp"
#include "plan/cost.hpp"
#include "plan/cpu/stores.hpp"
#include "plan/family.hpp"

namespace cornerturn::plan {

/// How a mode of the box is used.
///   across  contiguous in the source: all modes across together are a row that is loaded
///   down    contiguous in the destination: all modes down together are a column that is stored
///   deep    a repetition of the matrix that the others make, contiguous with one of its sides
enum class BoxRole : std::uint8_t { across, down, deep };

// The box takes `extent` indices of each mode named in `parts` and one of all other modes. In each
// role the modes come fastest first, and only the last may be taken in part.
struct PackConfig {
  struct Part {
    std::int8_t mode = 0;
    BoxRole role = BoxRole::down;
    std::int32_t extent = 1;

    friend bool operator==(const Part&, const Part&) = default;
  };
  static constexpr int max_parts = 32;

  std::array<Part, max_parts> parts;
  int part_count = 0;
  std::int64_t src_run = 0, dst_run = 0;  ///< bytes of a box that are contiguous on either side
  std::int64_t boxes_a_piece = 1;
  Stores stores = Stores::regular;

  friend bool operator==(const PackConfig&, const PackConfig&) = default;
};

namespace pack {

/// What things cost one thread, a line of the destination unless they say something else: measured
/// with boxes of many shapes on a Zen 4 processor.
struct Costs {
  Cost start_ns{"start_ns", 147.6, "the call: laying out a box"};
  Cost stage_ns{"stage_ns", 5.232, "a line from the stage to memory"};
  Cost block_ns{"block_ns", 2.99, "a line through the registers, in blocks"};
  Cost element_ns{"element_ns", 0.897,
                  "an element that is moved by itself, or a row too narrow for blocks"};
  Cost run_ns{"run_ns", 11.96,
              "each run of the source that comes from memory, each short one of the destination"};

  friend bool operator==(const Costs&, const Costs&) = default;
};

/// What a thread has room for: elements across, down and deep; columns stored in one box.
inline constexpr std::int64_t max_side = 1024;
inline constexpr std::int64_t max_columns = 1024;

/// Rows of a box that spread over more bytes of the source than these lie far from each other: they
/// are collected before they are transposed.
inline constexpr std::int64_t far_bytes = 16 << 10;

/// How many of `extent` rows (or columns) are done in blocks of `block`. A rest of up to a quarter
/// of a block is done element by element, a larger one by a block that starts early.
constexpr std::int64_t in_blocks(std::int64_t extent, std::int64_t block) {
  const std::int64_t rest = extent % block;
  return extent > block && rest * 4 <= block ? extent - rest : extent;
}

/// Bytes of the source from the lowest to the highest row of a box.
std::int64_t row_spread(const PackConfig& config, const Problem& normal);

struct Family {
  static constexpr std::string_view name = "pack";
  static constexpr std::string_view idea =
      "boxes contiguous in pieces on both sides, through a stage";
  static constexpr Operations operations{Operation::move};
  using Costs = pack::Costs;
  using Config = PackConfig;

  static const char* why_not(const Problem& normal, const CpuInfo& cpu);
  static void configure(const Problem& normal, const CpuInfo& cpu, const Add<Config>& add);
  static double cost_ns(const Config& config, const Problem& normal, const CpuInfo& cpu,
                        const Costs& costs);
  static std::string describe(const Config& config, const Problem& normal);
};

}  // namespace pack
}  // namespace cornerturn::plan
