// The bytes that must move between the chip and its memory, counted in whole sectors of 32 bytes.
#pragma once

#include <array>
#include <cstdint>

#include "core/problem.hpp"

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
  double src_lines = 0;    ///< the same for kernels that load through lines of the L2
  double dst_short = 0;    ///< the same of the destination's rows, where these are short and cut
  std::array<Repeat, most_repeats> repeats{};  ///< those with most between them, if there are more
  int repeat_count = 0;

  double bytes() const { return src_bytes + dst_bytes; }
};

/// Sectors of both sides that hold elements of the problem: what no kernel can avoid.
Traffic least_traffic(const Problem& normal);

}  // namespace cornerturn::plan::gpu
