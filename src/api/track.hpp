// How a problem is cut for a race: into slices, and what they leave.
#pragma once

#include <cstdint>
#include <vector>

#include "core/problem.hpp"

namespace cornerturn {

/// A problem, cut along the modes that are outermost on both sides: as many as it takes to have
/// enough slices. Each level is what is left of one index of the level before. Slices are like the
/// whole: none cuts what lies together, on either side, into pieces shorter than a few lines, none
/// cuts a broadcast mode, and they begin where whole lines do, if the problem does.
class Track {
 public:
  /// `normal` is normalised. Not usable() where it cannot be cut into so many slices.
  Track(const Problem& normal, std::int64_t slices);

  bool usable() const { return usable_; }
  /// Of the innermost mode that is cut: in the whole problem, in a slice, and those taken so far.
  std::int64_t indices() const { return indices_; }
  std::int64_t slice() const { return slice_; }
  std::int64_t taken() const { return taken_; }

  /// The next indices, as a problem of its own: so many, or those to the end of a level where that
  /// is less, or less than a slice away.
  Problem take(std::int64_t count);
  /// All that is left.
  std::vector<Problem> rest() const;

 private:
  struct Level {
    int mode;
    Problem left;

    std::int64_t extent() const { return left.modes[mode].extent; }
  };

  std::vector<Level> levels_;
  std::int64_t indices_ = 1;
  std::int64_t slice_ = 0;
  std::int64_t taken_ = 0;
  bool usable_ = false;
};

}  // namespace cornerturn
