#include "plan/gpu/pages.hpp"

#include <algorithm>

#include "plan/gpu/listed.hpp"
#include "plan/gpu/tile.hpp"

namespace cornerturn::plan::gpu::pages {

const char* Family::why_not(const Problem& normal, const DeviceInfo& device) {
  if (const char* rule = why_no_list(normal)) return rule;
  if (normal.values.beta != 0) return "the destination is read as well";
  return tile::Family::why_not(step_of_list(normal), device);
}

void Family::configure(const Problem& normal, const Alignment& start, const DeviceInfo& device,
                       const Add<PagesConfig>& add) {
  const Problem step = step_of_list(normal);
  tile::Family::Common runs(step);
  tile::Family::configure(step, of_steps(normal, start), device, runs, [&](const auto& tile) {
    const Launchable<kernels::TileArgs> ready = tile::Family::prepare(tile, step);
    const std::int64_t blocks =
        std::int64_t{ready.launch.grid.x} * normal.lists->modes.front().extent;
    if (blocks >= std::int64_t{1} << 31) return;
    add({tile});
  });
}

Demand Family::demand(const PagesConfig& config, const Problem& normal, const Model& model,
                      const Costs& c) {
  const auto steps = static_cast<double>(normal.lists->modes.front().extent);
  const Problem step = step_of_list(normal);
  tile::Family::Common runs(step);
  Demand demand = tile::Family::demand(config.tile, step, model, tile::Family::Costs(), runs);
  for (double* of_all : {&demand.src_bytes, &demand.dst_bytes, &demand.l2_bytes,
                         &demand.instructions, &demand.wavefronts, &demand.blocks}) {
    *of_all *= steps;
  }
  demand.block_seconds += c.look_up;
  return demand;
}

std::string Family::describe(const PagesConfig& config, const Problem& normal) {
  return "each step by " + tile::Family::describe(config.tile, step_of_list(normal));
}

Launchable<kernels::PagesArgs> Family::prepare(const PagesConfig& config, const Problem& normal) {
  const Launchable<kernels::TileArgs> step =
      tile::Family::prepare(config.tile, step_of_list(normal));
  kernels::PagesArgs args;
  args.page = step.args;
  args.blocks = FastDivide(step.launch.grid.x);
  args.from = from_of(normal);
  args.to = to_of(normal);
  args.leaves_missing = normal.lists->missing == Missing::left;
  Launch launch = step.launch;
  launch.grid.x *= static_cast<unsigned>(normal.lists->modes.front().extent);
  return {args, launch};
}

void Family::bind(Args& args, const Problem& normal, const Buffers& buffers, int) {
  bind_list(args, args.page, normal, buffers);
}

}  // namespace cornerturn::plan::gpu::pages
