// How the convert kernel cuts a problem into boxes, and which elements it converts in one run.
#pragma once

#include <array>
#include <cstdint>

#include "plan/convert.hpp"

namespace cornerturn::cpu {

/// Boxes of equal extents, smaller at the far end of each mode.
struct ConvertBoxes {
  using PerMode = std::array<std::int64_t, ModeList::capacity>;

  int rank = 0;
  PerMode extent;  ///< of a box
  PerMode boxes;   ///< so many along each mode
  /// Modes by source stride and by destination stride, smallest first.
  std::array<int, ModeList::capacity> by_source;
  std::array<int, ModeList::capacity> by_destination;
  std::int64_t count = 1;
  std::int64_t elements = 1;  ///< of a whole box
  /// So many of the first modes in the order of the converted side make one run.
  int run_modes = 1;
  /// Strides of the stage, in bytes: its own order is that of the converted side.
  PerMode stage_stride;
  std::int64_t stage_bytes = 0;

  /// One box: where it begins, and how many elements of each mode it has.
  struct Box {
    PerMode first;
    PerMode count;
    std::int64_t src_offset = 0;
    std::int64_t dst_offset = 0;
  };
  Box box(const Problem& normal, std::int64_t index) const;
};

ConvertBoxes make_boxes(const plan::ConvertConfig& config, const Problem& normal);

}  // namespace cornerturn::cpu
