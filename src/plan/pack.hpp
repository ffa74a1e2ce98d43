// pack: boxes of the problem, contiguous in pieces on both sides, transposed through a stage. For
// short runs, small extents and many modes; takes every problem.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "core/problem.hpp"
#include "plan/cpu_info.hpp"

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
  bool non_temporal = false;

  friend bool operator==(const PackConfig&, const PackConfig&) = default;
};

namespace pack {

/// What a thread has room for: elements across, down and deep; columns stored in one box.
inline constexpr std::int64_t max_side = 1024;
inline constexpr std::int64_t max_columns = 1024;

/// How many of `extent` rows (or columns) are done in blocks of `block`. A rest of up to a quarter
/// of a block is done element by element, a larger one by a block that starts early.
constexpr std::int64_t in_blocks(std::int64_t extent, std::int64_t block) {
  const std::int64_t rest = extent % block;
  return extent > block && rest * 4 <= block ? extent - rest : extent;
}

/// Bytes of the source from the lowest to the highest row of a box.
std::int64_t row_spread(const PackConfig& config, const Problem& normal);

const char* why_not(const Problem& normal, const CpuInfo& cpu);
PackConfig configure(const Problem& normal, const CpuInfo& cpu);
double cost_ns(const PackConfig& config, const Problem& normal, const CpuInfo& cpu);
std::string describe(const PackConfig& config, const Problem& normal);

}  // namespace pack
}  // namespace cornerturn::plan
