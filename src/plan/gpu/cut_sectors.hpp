// Rows of the destination that leave sectors in part, which kernels ask the L2 for before they
// write to them (kernels/cut_sectors.hpp).
#pragma once

#include <cstdint>

#include "core/problem.hpp"
#include "plan/gpu/device_info.hpp"

namespace cornerturn::plan::gpu {

/// What lies in the destination without a gap.
struct DstRow {
  std::int64_t bytes = 0;
  int modes = 0;              ///< with more than one index
  std::int64_t gap = 0;       ///< bytes to the next row; 0: there is none
  bool whole_sectors = true;  ///< rows are such, and begin at multiples of such where arrays do
};
DstRow dst_row(const Problem& normal);

/// Whether gaps leave sectors in part, and rows are short enough for these to matter.
bool leaves_cut_sectors(const DstRow& row);

/// Whether an array of so many bytes does not stay in the L2 until its sectors are whole.
inline bool outgrows_l2(double bytes, const DeviceInfo& device) {
  return bytes >= static_cast<double>(device.l2_bytes) / 4;
}

/// What those say who do.
inline constexpr const char* ends_prefetched = ", ends prefetched";

/// Whether kernels should ask for the sectors that rows leave in part.
inline bool gains_from_prefetching(const DstRow& row, const Problem& normal,
                                   const DeviceInfo& device) {
  return leaves_cut_sectors(row) && outgrows_l2(static_cast<double>(normal.bytes()), device);
}

}  // namespace cornerturn::plan::gpu
