// Blocks in lines, each with scales of its own, transposed without their numbers: codes move, and
// change where a square of blocks takes one scale.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "core/block_format.hpp"

namespace cornerturn::cpu {

/// Values and scales of a matrix with blocks along its last axis. Strides are in bytes.
struct LineBlocks {
  std::byte* values;
  std::byte* scales;
  std::array<std::int64_t, 2> value_strides;  ///< along the last axis from one unit to the next
  std::array<std::int64_t, 2> scale_strides;  ///< along the last axis from one block to the next
};

/// Where a value is that the transpose cannot hold.
struct Inexact {
  std::int64_t row = 0;
  std::int64_t column = 0;
};

/// Transposes `src` (rows x columns, multiples of a block) to `dst`, or finds a value that forbids
/// it, and then writes nothing.
std::optional<Inexact> transpose_lines(const BlockRow& row, const LineBlocks& dst,
                                       const LineBlocks& src, std::int64_t rows,
                                       std::int64_t columns, int threads);

}  // namespace cornerturn::cpu
