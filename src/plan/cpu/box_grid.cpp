#include "plan/cpu/box_grid.hpp"

#include <algorithm>
#include <cassert>

#include "core/divide.hpp"

namespace cornerturn::plan {

void BoxGrid::count_boxes(const Problem& normal) {
  for (int i = 0; i < rank; ++i) {
    const auto slot = static_cast<std::size_t>(i);
    const std::int64_t all = normal.modes[i].extent;
    boxes[slot] = ceil_div(all, extent[slot]);
    count *= boxes[slot];
    elements *= extent[slot];
    if (all % extent[slot] == 0) continue;
    assert(uneven_modes < most_uneven);
    uneven[static_cast<std::size_t>(uneven_modes++)] = i;
  }
}

bool BoxGrid::reads_again(const Problem& normal, int i) const {
  return normal.modes[i].src_stride == 0 && extent[static_cast<std::size_t>(i)] == 1;
}

void BoxGrid::count_along_cuts(const Problem& normal, bool again_first) {
  const auto is_cut = [&](int i) {
    const std::int64_t of_a_box = extent[static_cast<std::size_t>(i)];
    return of_a_box > 1 && of_a_box < normal.modes[i].extent;
  };
  const auto turn_of = [&](int i) {
    return again_first && reads_again(normal, i) ? 0 : is_cut(i) ? 1 : 2;
  };
  int next = 0;
  for (const int turn : {0, 1, 2}) {
    for (int i = rank; i-- > 0;) {
      if (turn_of(i) == turn) order[static_cast<std::size_t>(next++)] = i;
    }
  }
  count_boxes(normal);
}

std::int64_t BoxGrid::count_of(int shape, int i, const Mode& mode) const {
  const std::int64_t whole = extent[static_cast<std::size_t>(i)];
  for (int k = 0; k < uneven_modes; ++k) {
    if (uneven[static_cast<std::size_t>(k)] == i && (shape >> k & 1) != 0) {
      return mode.extent % whole;
    }
  }
  return whole;
}

BoxGrid::Box BoxGrid::box(const Problem& normal, std::int64_t index) const {
  Box result;
  for (int k = 0; k < rank; ++k) {
    const int i = order[static_cast<std::size_t>(k)];
    const auto slot = static_cast<std::size_t>(i);
    const Mode& mode = normal.modes[i];
    const std::int64_t first = index % boxes[slot] * extent[slot];
    index /= boxes[slot];
    result.first[slot] = first;
    result.count[slot] = std::min(extent[slot], mode.extent - first);
    result.src_offset += first * mode.src_stride;
    result.dst_offset += first * mode.dst_stride;
  }
  for (int k = 0; k < uneven_modes; ++k) {
    const auto slot = static_cast<std::size_t>(uneven[static_cast<std::size_t>(k)]);
    if (result.count[slot] < extent[slot]) result.shape |= 1 << k;
  }
  return result;
}

}  // namespace cornerturn::plan
