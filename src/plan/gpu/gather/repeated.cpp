#include "plan/gpu/gather/repeated.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>

#include "maps/sectors.hpp"
#include "plan/gpu/gather/chunks.hpp"
#include "plan/gpu/gather/places.hpp"
#include "plan/gpu/gather/units.hpp"
#include "plan/gpu/row_runs.hpp"

namespace cornerturn::plan::gpu::gather {

namespace {

// The mode with the most repeats, or -1.
int repeated_mode(const Problem& normal) {
  int best = -1;
  std::int64_t most = 1;
  for (int i = 0; i < normal.rank(); ++i) {
    const Mode& mode = normal.modes[i];
    if (!repeats_pieces(mode) || mode.extent <= most) continue;
    best = i;
    most = mode.extent;
  }
  return best;
}

void forget_repeat(Traffic& traffic, const Mode& mode) {
  for (int i = 0; i < traffic.repeat_count; ++i) {
    Repeat& repeat = traffic.repeats[static_cast<std::size_t>(i)];
    if (repeat.dst_stride == mode.dst_stride) repeat.times = 1;
  }
}

}  // namespace

bool can_repeat(const Problem& normal) {
  if (normal.converts() || normal.elements() == 0) return false;
  const int mode = repeated_mode(normal);
  return mode >= 0 && normal.modes[mode].extent < (std::int64_t{1} << 31) &&
         is_countable(once_of(normal));
}

Problem once_of(const Problem& normal) {
  Problem once = normal;
  once.modes.erase(repeated_mode(normal));
  return once;
}

Demand demand_of_repeated(const GatherConfig& config, const Problem& order, const Model& model,
                          const Family::Costs& c) {
  const Problem once = once_of(order);
  const Mode& mode = order.modes[repeated_mode(order)];
  Model loaded_once{model.device, model.costs, model.least};
  forget_repeat(loaded_once.least, mode);
  const auto loaded = static_cast<double>(once.elements());
  const auto stored = static_cast<double>(order.elements());
  const int sectors = sectors_of_warp(once);
  Demand demand;
  demand.blocks = std::ceil(loaded / threads);
  demand.resident = resident_blocks(model.device, threads, 0, 8);
  demand.instructions = loaded * c.axis * once.rank();
  constexpr double again_seconds = 1e-9;  // at least, for each place
  demand.block_seconds = c.single_block + static_cast<double>(mode.extent) * again_seconds;
  const Rows rows(once);
  const auto run = static_cast<double>(rows.bytes);
  const bool in_chunks = config.chunk > 0;
  demand.src_bytes =
      read_once(rows, loaded_once) * (in_chunks ? 1 : 1 + fetched_again(rows, model, run));
  const MovedRuns runs = in_chunks ? runs_of_chunks(order) : MovedRuns{std::max(run, 512.0), 32};
  demand.dst_bytes = dst_moved(model, runs) + model.cut_bytes();
  const auto size = static_cast<double>(order.dst_type.size());
  demand.wavefronts = loaded / 32 * sectors * c.sector + stored / 32 * size;
  demand.l2_bytes = loaded * sectors;
  return demand;
}

kernels::RepeatedPlaces repeated_places(const Problem& normal) {
  auto places = places_of<kernels::RepeatedPlaces>(once_of(normal));
  const Mode& mode = normal.modes[repeated_mode(normal)];
  places.times = static_cast<std::uint32_t>(mode.extent);
  places.step = mode.dst_stride;
  return places;
}

}  // namespace cornerturn::plan::gpu::gather
