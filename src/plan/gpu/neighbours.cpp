#include "plan/gpu/neighbours.hpp"

#include <algorithm>
#include <cstdlib>

namespace cornerturn::plan::gpu {

double met_late(const Model& model, const Problem& normal, const BlockWalk& walk,
                const CutRuns& runs, std::int64_t Mode::*stride, std::int64_t reach) {
  const double of_block = static_cast<double>(normal.elements()) *
                          (normal.src_type.size() + normal.dst_type.size()) / walk.blocks;
  const double room = model.costs.kept * static_cast<double>(model.device.l2_bytes);
  const auto lost = [&](double blocks) {
    const double between = blocks * of_block;
    return between > 0 ? between / (between + room) : 0.0;
  };
  int next = -1;  // the mode along which the next run lies
  for (int i = 0; i < normal.rank(); ++i) {
    const bool inside = std::find(runs.modes.begin(), runs.modes.end(), i) != runs.modes.end();
    const std::int64_t step = std::abs(normal.modes[i].*stride);
    if (inside || step == 0 || normal.modes[i].extent == 1) continue;
    if (next < 0 || step < std::abs(normal.modes[next].*stride)) next = i;
  }
  double late = (runs.pieces - 1) * lost(runs.step);
  if (next >= 0) {
    const Mode& mode = normal.modes[next];
    const auto extent = static_cast<double>(mode.extent);
    const double indices = std::min(walk[next].indices, extent);
    const bool is_near =
        static_cast<double>(std::abs(mode.*stride)) - runs.bytes < static_cast<double>(reach);
    // Where a block has all of them, the next run is one of another matrix.
    if (is_near) late += lost(indices < extent ? walk[next].step : walk.blocks) / indices;
  }
  return late / runs.pieces;
}

}  // namespace cornerturn::plan::gpu
