// The bytes that must move between the chip and its memory, counted in whole sectors of 32 bytes;
// and rows of the destination that leave sectors in part, which kernels ask the L2 for before they
// write to them (kernels/cut_sectors.hpp).
#pragma once

#include <array>
#include <cstdint>

#include "core/normalise.hpp"
#include "core/problem.hpp"
#include "plan/gpu/device_info.hpp"

namespace cornerturn::plan::gpu {

/// What memory delivers at a time.
inline constexpr std::int64_t burst_bytes = 64;

/// Whether runs are so short, and so far apart, that each is a burst or two for the memory.
inline bool are_sparse(std::int64_t run, std::int64_t step) {
  return run < burst_bytes && step >= run + burst_bytes;
}

/// Whether a mode repeats pieces of the destination that are worth storing again as such: of
/// shorter ones a warp would write sectors in parts.
inline bool repeats_pieces(const Mode& mode) {
  constexpr std::int64_t least = 128;  // bytes
  return mode.src_stride == 0 && mode.extent > 1 && mode.dst_stride >= least;
}

/// A mode along which the destination holds the source several times.
struct Repeat {
  double times = 1;
  double between = 0;  ///< bytes that move from one time to the next, in the destination's order
  std::int64_t dst_stride = 0;  ///< of the mode
};

struct Traffic {
  static constexpr int most_repeats = 4;

  double src_bytes = 0;
  double dst_bytes = 0;
  double cut_rows = 0;     ///< of the destination, which leave sectors in part and are short enough
                           ///< for these to matter, but no more than there are sectors
  double of_cut_rows = 0;  ///< bytes of the sectors that rows touch with gaps between them
  double src_sparse = 0;   ///< bytes that take as long as the source's runs, where these are sparse
  double src_lines = 0;    ///< such bytes for kernels that load through lines of the L2
  double dst_short = 0;    ///< such bytes of the destination's rows, where these are short and cut
  std::array<Repeat, most_repeats> repeats{};  ///< those with most between them, if there are more
  int repeat_count = 0;

  double bytes() const { return src_bytes + dst_bytes; }
};

/// Sectors of both sides that hold elements of the problem: what no kernel can avoid.
Traffic least_traffic(const Problem& normal);

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
  /// Bytes of the sectors that all rows touch, of an array that has so many bytes of elements.
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
