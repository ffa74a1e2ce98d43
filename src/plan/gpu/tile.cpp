#include "plan/gpu/tile.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "core/validate.hpp"
#include "plan/gpu/groups.hpp"
#include "plan/gpu/plan.hpp"
#include "plan/gpu/traffic.hpp"

namespace cornerturn::plan::gpu {
namespace {

constexpr std::int64_t most_tiles = (std::int64_t{1} << 31) - 1;

struct TileSides {
  std::int64_t rows;  ///< elements of a destination row
  std::int64_t cols;
};

TileSides sides_of(const TileConfig& config, const Problem& normal) {
  const kernels::TileShape& shape = kernels::tile_shapes[config.shape];
  const std::int64_t size = normal.dst_type.size();
  return {shape.down_bytes / size, shape.across * 16 / size};
}

// Shapes of skew are numbered before those of its kernel for small elements.
bool is_turned(const SkewConfig& config) {
  return config.shape >= kernels::skew_shape_count;
}

TileSides sides_of(const SkewConfig& config, const Problem& normal) {
  const std::int64_t size = normal.dst_type.size();
  if (is_turned(config)) {
    const auto& shape = kernels::turned_shapes[config.shape - kernels::skew_shape_count];
    return {shape.down_bytes / size, shape.across * 16 / size};
  }
  const int kind = std::countr_zero(static_cast<unsigned>(size));
  const kernels::SkewShape& shape = kernels::skew_shapes[kind][config.shape];
  return {shape.down_bytes / size, shape.column_bytes / size};
}

template <class Config>
TileCounts counts_of(const Config& config, const Groups& groups, const Problem& normal) {
  const TileSides sides = sides_of(config, normal);
  return count_tiles(groups, sides.rows, sides.cols);
}

// Memory time for runs that are cut short, instruction time for tiles that are not full.
template <class Config>
double cost_of(const Config& config, const Problem& normal, const DeviceInfo& device,
               double instructions, double overhead_bytes) {
  const Groups groups = groups_of(normal, config.row_modes, config.col_modes);
  const TileSides sides = sides_of(config, normal);
  const TileCounts tiles = counts_of(config, groups, normal);
  const double size = normal.dst_type.size();
  const double tile_bytes = static_cast<double>(sides.rows * sides.cols) * size;
  const double full =
      static_cast<double>(normal.elements()) * size / (static_cast<double>(tiles.all) * tile_bytes);
  const double row_run = static_cast<double>(std::min(groups.row_count, sides.rows)) * size;
  const double col_run = static_cast<double>(std::min(groups.col_count, sides.cols)) * size;
  const double memory = least_traffic(normal).bytes() / device.copy_bandwidth *
                        (1 + overhead_bytes / row_run + overhead_bytes / col_run);
  const double issue = static_cast<double>(tiles.all) * tile_bytes / 16 * instructions /
                       (128.0 * device.sm_count * device.clock_hz);
  const double modes = 1 + 0.01 * (config.row_modes + config.col_modes - 2);
  return device.launch_seconds + std::max(memory * modes, issue) + 0.1 * memory * (1 - full);
}

template <class Config>
std::string describe_as(const Config& config, const Problem& normal) {
  const TileSides sides = sides_of(config, normal);
  std::string text = fmt::format("{} x {} of {} B", sides.cols, sides.rows, normal.dst_type.size());
  if (config.row_modes + config.col_modes > 2) {
    text += fmt::format(", {} + {} modes", config.col_modes, config.row_modes);
  }
  return text;
}

template <class Args, class Config>
Prepared prepared(Args args, const Config& config, const Problem& normal) {
  const Groups groups = groups_of(normal, config.row_modes, config.col_modes);
  const TileCounts tiles = counts_of(config, groups, normal);
  args.shape = config.shape;
  fill_groups(args, groups, tiles, normal);
  Prepared ready{args, {}};
  dispatch(args, [&]<class Kernel>() {
    ready.launch.block = {static_cast<unsigned>(Kernel::threads), 1, 1};
    ready.launch.dynamic_shared = Kernel::shared_bytes;
  });
  ready.launch.grid = {static_cast<unsigned>(tiles.all), 1, 1};
  return ready;
}

}  // namespace

namespace tile {

const char* why_not(const Problem& normal, const DeviceInfo&) {
  return why_no_groups(normal);
}

void configure(const Problem& normal, const Alignment& start, const DeviceInfo&,
               const std::function<void(const TileConfig&)>& add) {
  for_each_grouping(normal, [&](const Groups& groups) {
    if (!is_aligned(groups, normal, start)) return;
    for (int shape = 0; shape < kernels::tile_shape_count; ++shape) {
      const TileConfig config{static_cast<std::int8_t>(shape),
                              static_cast<std::int8_t>(groups.row_modes),
                              static_cast<std::int8_t>(groups.col_modes)};
      if (counts_of(config, groups, normal).all <= most_tiles) add(config);
    }
  });
}

double cost_seconds(const TileConfig& config, const Problem& normal, const DeviceInfo& device) {
  return cost_of(config, normal, device, normal.dst_type.size() == 1 ? 45 : 30, 6);
}

std::string describe(const TileConfig& config, const Problem& normal) {
  return describe_as(config, normal);
}

Prepared prepare(const TileConfig& config, const Problem& normal) {
  return prepared(kernels::TileArgs{}, config, normal);
}

}  // namespace tile

namespace skew {

const char* why_not(const Problem& normal, const DeviceInfo&) {
  return why_no_groups(normal);
}

void configure(const Problem& normal, const Alignment& start, const DeviceInfo& device,
               const std::function<void(const SkewConfig&)>& add) {
  for_each_grouping(normal, [&](const Groups& groups) {
    if (is_aligned(groups, normal, start)) return;
    const int shapes =
        kernels::skew_shape_count + (normal.dst_type.size() <= 4 ? kernels::turned_shape_count : 0);
    for (int shape = 0; shape < shapes; ++shape) {
      const SkewConfig config{{static_cast<std::int8_t>(shape),
                               static_cast<std::int8_t>(groups.row_modes),
                               static_cast<std::int8_t>(groups.col_modes)}};
      if (counts_of(config, groups, normal).all <= most_tiles) add(config);
    }
  });
  (void)device;
}

double cost_seconds(const SkewConfig& config, const Problem& normal, const DeviceInfo& device) {
  const double size = normal.dst_type.size();
  return cost_of(config, normal, device, 20 + 50 / size, 16);
}

std::string describe(const SkewConfig& config, const Problem& normal) {
  return describe_as(config, normal) + (is_turned(config) ? ", turned in registers" : "");
}

Prepared prepare(const SkewConfig& config, const Problem& normal) {
  kernels::SkewArgs args;
  const Reach reach = src_reach(normal);
  args.src_low = reach.low - normal.src_offset;
  args.src_high = reach.high - normal.src_offset;
  return prepared(args, config, normal);
}

}  // namespace skew
}  // namespace cornerturn::plan::gpu
