#include "plan/gpu/cut_sectors.hpp"

#include <algorithm>
#include <cstdlib>

#include "core/divide.hpp"
#include "maps/sectors.hpp"

namespace cornerturn::plan::gpu {

DstRow dst_row(const Problem& normal) {
  DstRow row{.bytes = normal.dst_type.size()};
  bool inside = true;
  for (int i = normal.rank(); i-- > 0;) {  // the fastest first
    const Mode& mode = normal.modes[i];
    if (mode.extent == 1) continue;
    const std::int64_t step = std::abs(mode.dst_stride);
    if (inside && step == row.bytes) {
      row.bytes *= mode.extent;
      ++row.modes;
      continue;
    }
    if (inside) row.gap = step - row.bytes;
    inside = false;
    row.whole_sectors = row.whole_sectors && step % sector_bytes == 0;
  }
  row.whole_sectors =
      row.whole_sectors && row.bytes % sector_bytes == 0 && normal.dst_offset % sector_bytes == 0;
  return row;
}

bool DstRow::is_short() const {
  constexpr std::int64_t one_store = 16;  // bytes
  const bool alone = bytes <= one_store || is_sparse();
  return gap > 0 && alone && !whole_sectors;
}

double DstRow::touched() const {
  const std::int64_t granule = gcd_of_power(gcd_of_power(sector_bytes, bytes), bytes + gap);
  return static_cast<double>(std::min(bytes + sector_bytes - granule, bytes + gap));
}

bool leaves_cut_sectors(const DstRow& row) {
  constexpr std::int64_t longest = 2048;  // bytes, as measured
  return row.gap > 0 && row.bytes <= longest && !row.whole_sectors && !row.is_sparse();
}

bool gains_from_prefetching(DstRow row, const Problem& normal, const Alignment& start,
                            const DeviceInfo& device) {
  // Plans know of an array's address no more than that. Kernels look at it.
  constexpr std::int64_t vector = 16;
  row.whole_sectors = row.whole_sectors && start.dst % vector == 0;
  return leaves_cut_sectors(row) && outgrow_l2(row.touched_of(normal.bytes()), device);
}

}  // namespace cornerturn::plan::gpu
