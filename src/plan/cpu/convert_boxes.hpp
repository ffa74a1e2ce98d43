// How the convert kernel cuts a problem into boxes, and which elements it converts in one run.
#pragma once

#include <cstdint>

#include "plan/cpu/box_grid.hpp"
#include "plan/cpu/convert.hpp"

namespace cornerturn::plan {

/// Boxes are counted along the source: neighbouring boxes read neighbouring bytes.
struct ConvertBoxes : BoxGrid {
  /// Modes by source stride and by destination stride, smallest first.
  ModeOrder by_source;
  ModeOrder by_destination;
  /// So many of the first modes in the order of the converted side make one run.
  int run_modes = 1;
  /// Strides of the stage, in bytes: its own order is that of the converted side.
  PerMode stage_stride;
  std::int64_t stage_bytes = 0;
};

ConvertBoxes make_boxes(const ConvertConfig& config, const Problem& normal);

/// How boxes of one shape are moved between their side and the stage: the problem is between the
/// first elements of a box and of the stage.
Problem move_of_boxes(const ConvertBoxes& boxes, int shape, ConvertConfig::Order order,
                      const Problem& normal);

}  // namespace cornerturn::plan
