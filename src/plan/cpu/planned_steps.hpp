// The steps of a list, each with the plan of what is done there.
#pragma once

#include <cstdint>

#include "plan/cpu/box_moves.hpp"

namespace cornerturn::plan {

struct PlannedSteps {
  BoxMove step;   ///< between the first elements of a step
  BoxMove zeros;  ///< the same from a source that is one zero
  /// Bytes of a step that is nothing but one run on both sides, else 0.
  std::int64_t run_bytes = 0;
  bool past_caches = false;  ///< whole lines of such runs are written around the caches
  /// Short steps are done so many at a time.
  std::int64_t steps_a_piece = 1;

  friend bool operator==(const PlannedSteps&, const PlannedSteps&) = default;
};

}  // namespace cornerturn::plan
