// What a layout is and what a warp's accesses to it cost in shared memory, without any kernel.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "maps/banks.hpp"
#include "maps/composed.hpp"
#include "workshop/analyse/tile_walk.hpp"

namespace cornerturn {

/// All accesses of one width that walk over the layout in one way; the first mode counts as rows,
/// the second as columns.
struct LayoutAccess {
  LayoutWalk walk = LayoutWalk::rows;
  int width = 0;        ///< bytes a lane
  std::string why_not;  ///< not empty: such an access is impossible
  int requests = 0;
  std::int64_t wavefronts = 0;  ///< of all requests
  SharedCost worst;             ///< of one request
};

struct LayoutReport {
  SwizzledLayout layout;
  int bytes = 4;  ///< of an element
  std::int64_t rows = 1;
  std::int64_t columns = 1;
  std::int64_t cosize = 0;             ///< of the layout in front of the swizzle
  std::int64_t span = 0;               ///< elements that the swizzled layout may reach
  std::string why_no_access;           ///< not empty: the accesses below were not looked at
  std::vector<LayoutAccess> accesses;  ///< each walk at each width up to 16 bytes

  std::string text() const;
  std::string json() const;
};

/// Throws Error when the layout has more than two modes, or elements are not of 1 to 16 bytes.
LayoutReport report_layout(const SwizzledLayout& layout, int bytes);

}  // namespace cornerturn
