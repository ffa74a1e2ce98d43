#include "plan/gpu/neighbours.hpp"

#include <algorithm>
#include <cstdlib>

#include "plan/gpu/runs.hpp"

namespace cornerturn::plan::gpu {

double met_late(const Model& model, const Problem& normal, const BlockWalk& walk,
                const CutRuns& runs, std::int64_t Mode::*stride, std::int64_t reach) {
  int next = -1;  // the mode along which the next run lies
  for (int i = 0; i < normal.rank(); ++i) {
    const bool inside = std::find(runs.modes.begin(), runs.modes.end(), i) != runs.modes.end();
    const std::int64_t step = std::abs(normal.modes[i].*stride);
    if (inside || step == 0 || normal.modes[i].extent == 1) continue;
    if (next < 0 || step < std::abs(normal.modes[next].*stride)) next = i;
  }
  const auto extent = next < 0 ? 1.0 : static_cast<double>(normal.modes[next].extent);
  const double indices = next < 0 ? 1.0 : std::min(walk[next].indices, extent);
  const bool is_near =
      next >= 0 && static_cast<double>(std::abs(normal.modes[next].*stride)) - runs.bytes <
                       static_cast<double>(reach);
  if (!is_near && runs.pieces == 1) return 0;
  // What a block moves. The L2 gives room to lines, also for what a block does not touch of them.
  const double elements = static_cast<double>(normal.elements()) / walk.blocks;
  const double side = elements * static_cast<double>(element_size(normal, stride));
  const double together = runs.bytes / runs.pieces * (is_near ? indices : 1);
  const double of_block = elements * (normal.src_type.size() + normal.dst_type.size()) +
                          side * model.costs.line / together;
  const double room = model.costs.kept * static_cast<double>(model.device.l2_bytes);
  const auto lost = [&](double blocks) {
    const double between = blocks * of_block;
    return between > 0 ? between / (between + room) : 0.0;
  };
  double late = (runs.pieces - 1) * lost(runs.step);
  // Where a block has all of them, the next run is one of another matrix.
  if (is_near) late += lost(indices < extent ? walk[next].step : walk.blocks) / indices;
  return late / runs.pieces;
}

}  // namespace cornerturn::plan::gpu
