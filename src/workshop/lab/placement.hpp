// Where the elements of a tile lie, whatever says it: a layout, or a rule that is none.
#pragma once

#include <cstdint>
#include <functional>

#include "maps/composed.hpp"

namespace cornerturn::lab {

struct Placement {
  std::int64_t rows = 1;
  std::int64_t columns = 1;
  std::function<std::int64_t(std::int64_t row, std::int64_t column)> at;  ///< offsets in elements
};

/// The offset in elements of (row, column); a layout of one mode is a row.
inline std::int64_t offset_of(const SwizzledLayout& layout, std::int64_t row, std::int64_t column) {
  return layout.layout.rank() == 1 ? layout(column) : layout(row, column);
}

inline Placement placement_of(const SwizzledLayout& layout) {
  const bool flat = layout.layout.rank() == 1;
  return {
      flat ? 1 : layout.layout.mode(0).size(), flat ? layout.size() : layout.layout.mode(1).size(),
      [layout](std::int64_t row, std::int64_t column) { return offset_of(layout, row, column); }};
}

}  // namespace cornerturn::lab
