#include "plan/swap_split.hpp"

#include <algorithm>

namespace cornerturn::plan {

std::optional<SwapSplit> split_swap(const Problem& normal) {
  SwapSplit split{};
  split.element = normal.src_type.size();
  int moved = 0;
  for (const Mode& mode : normal.modes) {
    if (mode.src_stride == mode.dst_stride) {
      if (mode.dst_stride == normal.src_type.size()) {
        split.element = mode.extent * mode.dst_stride;
      } else {
        split.batch.push_back(mode);
      }
      continue;
    }
    const std::int64_t row = std::max(mode.src_stride, mode.dst_stride);
    const std::int64_t column = std::min(mode.src_stride, mode.dst_stride);
    const bool same =
        mode.extent == split.extent && row == split.row_stride && column == split.column_stride;
    if (++moved > 2 || (moved == 2 && !same)) return std::nullopt;
    split.extent = mode.extent;
    split.row_stride = row;
    split.column_stride = column;
  }
  if (moved != 2) return std::nullopt;
  return split;
}

}  // namespace cornerturn::plan
