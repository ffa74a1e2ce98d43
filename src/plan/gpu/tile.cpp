#include "plan/gpu/tile.hpp"

#include <algorithm>

#include "plan/gpu/convert.hpp"

namespace cornerturn::plan::gpu::tile {
namespace {

TileSides sides_of(const TileConfig& config, const Problem& normal) {
  return gpu::sides_of(kernels::tile_shapes[config.shape], normal);
}

}  // namespace

const char* Family::why_not(const Problem& normal, const DeviceInfo&) {
  if (normal.converts()) {
    if (const char* rule = why_no_cast(normal)) return rule;
  }
  return why_no_groups(normal);
}

void Family::configure(const Problem& normal, const Alignment& start, const DeviceInfo& device,
                       Common& runs, const Add<TileConfig>& add) {
  const DstRow row = dst_row(normal);
  for_each_grouping(normal, runs, [&](const Groups& groups) {
    if (!is_aligned(groups, normal, start)) return;
    const bool prefetches = rows_gain_from_prefetching(row, groups, normal, start, device);
    const auto offer = [&](int shape) {
      const TileConfig config{static_cast<std::uint8_t>(shape),
                              static_cast<std::uint8_t>(groups.row_modes),
                              static_cast<std::uint8_t>(groups.col_modes), prefetches};
      if (counts_of(sides_of(config, normal), groups).all <= most_tiles) add(config);
    };
    if (normal.converts()) {
      const int staged = std::min(normal.src_type.size(), normal.dst_type.size());
      return offer(kernels::changing_tile_shape(staged));
    }
    for (int shape = 0; shape < static_cast<int>(std::size(kernels::tile_shapes)); ++shape) {
      if (!kernels::has_tile_shape(shape, normal.dst_type.size())) continue;
      if (!is_too_large(kernels::tile_shapes, shape, groups, normal)) offer(shape);
    }
  });
}

Demand Family::demand(const TileConfig& config, const Problem& normal, const Model& model,
                      const Costs& c, Common& runs) {
  const TileCosts costs{
      .thread = c.thread, .block = c.block, .block_turn = c.block_turn, .barriers = c.barriers};
  const Groups groups = groups_of(normal, runs, config.row_modes, config.col_modes);
  return demand_of_tiles(groups, sides_of(config, normal),
                         kernel_of<kernels::TileArgs>(config, normal), costs, 0, normal, model);
}

std::string Family::describe(const TileConfig& config, const Problem& normal) {
  return describe_tiles(config, sides_of(config, normal), normal) +
         (config.prefetches ? cut_prefetched : "");
}

Launchable<kernels::TileArgs> Family::prepare(const TileConfig& config, const Problem& normal) {
  kernels::TileArgs args;
  Groups groups = groups_of(normal, GroupRuns(normal), config.row_modes, config.col_modes);
  groups.rows.size = config.row_modes;
  groups.cols.size = config.col_modes;
  Run rest;
  for (int i = normal.rank(); i-- > 0;) {
    if (groups.in_rows(i) || groups.in_cols(i)) continue;
    rest.mode[static_cast<std::size_t>(rest.size++)] = static_cast<std::uint8_t>(i);
  }
  args.scale = group_vector(normal.scale, normal, groups.rows, groups.cols, rest);
  args.bias = group_vector(normal.bias, normal, groups.rows, groups.cols, rest);
  return launch_of_tiles(args, config, sides_of(config, normal), normal);
}

}  // namespace cornerturn::plan::gpu::tile
