// Rows of the destination that leave sectors in part, which kernels ask the L2 for before they
// write to them (kernels/cut_sectors.hpp).
#pragma once

#include <cstdint>

#include "core/normalise.hpp"
#include "core/problem.hpp"
#include "plan/gpu/device_info.hpp"
#include "plan/gpu/traffic.hpp"

namespace cornerturn::plan::gpu {

/// What lies in the destination without a gap.
struct DstRow {
  std::int64_t bytes = 0;
  int modes = 0;              ///< with more than one index
  std::int64_t gap = 0;       ///< bytes to the next row; 0: there is none
  bool whole_sectors = true;  ///< if the array begins with one, rows do, and are such

  /// Memory takes each by itself.
  bool is_sparse() const { return gap > 0 && are_sparse(bytes, bytes + gap); }
  /// No longer than what a lane stores at once, or sparse, in sectors that gaps leave in part.
  bool is_short() const;
  /// Bytes of the sectors that a row touches, in the mean of where it may begin. Of a sector that
  /// two rows share each counts half.
  double touched() const;
  /// The same of all rows of an array that has so many bytes of elements.
  double touched_of(std::int64_t all) const {
    return static_cast<double>(all) / static_cast<double>(bytes) * touched();
  }
};
DstRow dst_row(const Problem& normal);

/// What descriptions of kernels end with that ask for cut sectors.
inline constexpr const char* cut_prefetched = ", cut sectors prefetched";

/// Whether gaps leave sectors in part, and rows are short enough for these to matter, but not
/// sparse: what is written to such a row at once takes longer if its sector was asked for.
bool leaves_cut_sectors(const DstRow& row);

/// Whether so many bytes of sectors do not stay in the L2, where writing to a part of one takes
/// little time. Measured on an H200, and taken for other GPUs as well.
inline bool outgrow_l2(double bytes, const DeviceInfo& device) {
  return bytes >= static_cast<double>(device.l2_bytes) / 5;
}

/// Whether kernels should ask for the sectors that rows leave in part.
bool gains_from_prefetching(DstRow row, const Problem& normal, const Alignment& start,
                            const DeviceInfo& device);

}  // namespace cornerturn::plan::gpu
