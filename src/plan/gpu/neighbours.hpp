// Where the runs of two blocks meet, both touch the same burst of 64 bytes, or the same sector. The
// one that comes later finds it in the L2, if not too much has been moved in between.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>

#include "core/problem.hpp"
#include "plan/gpu/estimate.hpp"

namespace cornerturn::plan::gpu {

/// How blocks go through a problem, by mode.
struct BlockWalk {
  struct OfMode {
    double indices;  ///< that a block has
    double step;     ///< blocks to the one that has the next
  };
  std::array<OfMode, ModeList::capacity> mode;  ///< those of the problem are set
  double blocks = 1;

  explicit BlockWalk(const Problem& normal) {
    std::fill_n(mode.begin(), normal.rank(), OfMode{1, 0});
  }

  OfMode& operator[](int i) { return mode[static_cast<std::size_t>(i)]; }
  const OfMode& operator[](int i) const { return mode[static_cast<std::size_t>(i)]; }
};

/// The runs of a side, each of which blocks cut into pieces.
struct CutRuns {
  std::span<const std::uint8_t> modes;  ///< along which they go
  double bytes = 0;                     ///< of a run
  double pieces = 1;                    ///< of it
  double step = 0;                      ///< blocks from a piece to the next
};

/// Of the ends of pieces, the share whose neighbours come so late that the L2 has lost what both
/// touch. `reach`: bytes that are fetched, or written, at once.
double met_late(const Model& model, const Problem& normal, const BlockWalk& walk,
                const CutRuns& runs, std::int64_t Mode::*stride, std::int64_t reach);

}  // namespace cornerturn::plan::gpu
