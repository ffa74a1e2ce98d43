// How large the boxes are that both sides read and write in whole lines: extents are chosen along
// the source and the destination alternately.
#pragma once

#include <cstdint>

#include "core/problem.hpp"
#include "plan/cpu/box_grid.hpp"

namespace cornerturn::plan {

/// Extents of a box over the first `rank` modes of a problem, while they are chosen. What the modes
/// move are atoms of so many bytes. A box should have runs of `wanted_run` bytes on both sides; it
/// has at most `most_atoms` atoms, and may take more than one index of at most `most_parts` modes.
class BoxSizes {
 public:
  BoxSizes(const Problem& normal, int rank, std::int64_t atom, std::int64_t wanted_run,
           std::int64_t most_atoms, int most_parts);

  /// Along the source and the destination alternately, whichever has further to go.
  void choose();

  /// Leaves one index of each broadcast mode in the box. False: it had no more.
  bool leave_broadcasts();

  /// Bytes of the box that lie side by side, or nearly so.
  std::int64_t run(std::int64_t Mode::*stride) const;
  std::int64_t extent(int mode) const { return extent_[static_cast<std::size_t>(mode)]; }
  std::int64_t bytes() const { return bytes_; }

 private:
  int next(std::int64_t Mode::*stride, int last) const;
  bool grow(std::int64_t Mode::*stride, std::int64_t run, bool anywhere = false);

  const Problem& normal_;
  int rank_;
  BoxGrid::PerMode extent_;
  std::int64_t bytes_;
  std::int64_t atom_;
  std::int64_t wanted_run_;
  std::int64_t most_atoms_;
  int most_parts_;
  int uneven_ = 0;
  int parts_ = 0;
};

}  // namespace cornerturn::plan
