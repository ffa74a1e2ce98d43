#include "plan/gpu/tile.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <numeric>

#include "core/divide.hpp"
#include "core/validate.hpp"
#include "plan/gpu/convert.hpp"
#include "plan/gpu/groups.hpp"
#include "plan/gpu/plan.hpp"

namespace cornerturn::plan::gpu {
namespace {

constexpr std::int64_t most_tiles = (std::int64_t{1} << 31) - 1;

struct TileSides {
  std::int64_t rows;  ///< elements of a destination row
  std::int64_t cols;
  std::int64_t halo = 0;  ///< rows more that the last one takes
};

TileSides sides_of(const TileConfig& config, const Problem& normal) {
  const kernels::TileShape& shape = kernels::tile_shapes[config.shape];
  const std::int64_t size = normal.dst_type.size();
  return {shape.down_bytes / size, shape.across * 16 / size};
}

TileSides sides_of(const TileConvertConfig& config, const Problem& normal) {
  const int staged = std::min(normal.src_type.size(), normal.dst_type.size());
  const kernels::TileShape shape = kernels::convert_shape(staged);
  (void)config;
  return {shape.down_bytes / staged, shape.across * std::int64_t{16} / normal.src_type.size()};
}

TileSides sides_of(const SkewConvertConfig& config, const Problem& normal) {
  const int staged = std::min(normal.src_type.size(), normal.dst_type.size());
  const auto& shape = kernels::turned_shapes[config.shape];
  return {shape.down_bytes / staged, shape.across * std::int64_t{16} / normal.src_type.size(),
          32 / normal.dst_type.size()};
}

// Shapes of skew are numbered before those of its kernel for small elements.
bool is_turned(const SkewConfig& config) {
  return config.shape >= kernels::skew_shape_count;
}

TileSides sides_of(const SkewConfig& config, const Problem& normal) {
  const std::int64_t size = normal.dst_type.size();
  if (is_turned(config)) {
    const auto& shape = kernels::turned_shapes[config.shape - kernels::skew_shape_count];
    return {shape.down_bytes / size, shape.across * 16 / size, 32 / size};
  }
  const int kind = std::countr_zero(static_cast<unsigned>(size));
  const kernels::SkewShape& shape = kernels::skew_shapes[kind][config.shape];
  return {shape.down_bytes / size, shape.column_bytes / size};
}

template <class Config>
TileCounts counts_of(const Config& config, const Groups& groups, const Problem& normal) {
  const TileSides sides = sides_of(config, normal);
  return count_tiles(groups, sides.rows, sides.cols, sides.halo);
}

// What a lane, an element of its vector, a thread, and a mode beyond two cost; and a block.
struct TileCosts {
  double lane, element, thread, mode, block, block_byte;
  double turn = 0;
};

// The kernel that a configuration names, as far as it matters here.
struct Kernel {
  int threads = 0;
  int min_blocks = 0;
  unsigned shared_bytes = 0;
};

template <class Args>
Kernel kernel_of(const TileConfig& config, const Problem& normal) {
  Args args;
  args.element_bytes = normal.dst_type.size();
  if constexpr (requires { args.values; }) args.values = value_args(normal);
  if constexpr (requires { args.scale; }) {
    args.scale.present = normal.scale.present;
    args.bias.present = normal.bias.present;
  }
  args.shape = config.shape;
  args.rows.modes = config.row_modes;
  args.cols.modes = config.col_modes;
  Kernel kernel;
  dispatch(args, [&]<class K>() { kernel = {K::threads, K::min_blocks, K::shared_bytes}; });
  return kernel;
}

// Runs of a side: of `count` elements in pieces of `most`; the modes of `run` are in them.
MovedRuns runs_of(const Problem& normal, const Run& run, int modes, std::int64_t count,
                  std::int64_t most, std::int64_t Mode::*stride) {
  const std::int64_t size = element_size(normal, stride);
  MovedRuns runs;
  runs.granule = count > most ? std::gcd(std::int64_t{64}, most * size) : 64;
  for (int i = 0; i < normal.rank(); ++i) {
    bool inside = false;
    for (int k = 0; k < modes; ++k) inside |= run[k] == i;
    if (!inside) runs.granule = std::gcd(runs.granule, normal.modes[i].*stride);
  }
  runs.bytes = static_cast<double>(count * size) / static_cast<double>(ceil_div(count, most));
  runs.between = runs.bytes;
  return runs;
}

// `halo_bytes`: of a row of the destination, which neighbouring tiles both take, so that their
// shares of it meet between sectors.
template <class Config>
Estimate estimate_of_tiles(const Config& config, const Problem& normal, const Model& model,
                           const Kernel& kernel, const TileCosts& costs, double halo_bytes) {
  const Groups groups = groups_of(normal, config.row_modes, config.col_modes);
  const TileSides sides = sides_of(config, normal);
  const TileCounts tiles = counts_of(config, groups, normal);
  const double size = normal.dst_type.size();
  const double tile_bytes = static_cast<double>(sides.rows * sides.cols) * size;
  const double halo = halo_bytes / (static_cast<double>(sides.rows) * size);
  const int more_modes = config.row_modes + config.col_modes - 2;

  Work work;
  work.blocks = static_cast<double>(tiles.all);
  work.resident =
      resident_blocks(model.device, kernel.threads, kernel.shared_bytes, kernel.min_blocks);
  work.instructions =
      work.blocks * (tile_bytes / 16 * (1 + halo) * (costs.lane + costs.element * 16 / size) +
                     kernel.threads * (costs.thread + costs.mode * more_modes));
  // Whole vectors on both legs: four wavefronts for each 512 bytes.
  work.wavefronts = work.blocks * tile_bytes * (1 + halo) / 512 * 8;
  work.block_seconds =
      costs.block + costs.block_byte * tile_bytes + (more_modes > 0 ? model.costs.table_block : 0);
  work.src_bytes = src_moved(model, runs_of(normal, groups.cols, config.col_modes, groups.col_count,
                                            sides.cols, &Mode::src_stride)) *
                   (1 + model.costs.halo * halo);
  MovedRuns written = runs_of(normal, groups.rows, config.row_modes, groups.row_count, sides.rows,
                              &Mode::dst_stride);
  if (halo_bytes > 0) written.between = static_cast<double>(groups.row_count) * size;
  work.dst_bytes = dst_moved(model, written);
  const double turns = 1 + costs.turn * (tile_bytes / 64 / kernel.threads - 1);
  const double src_group = static_cast<double>(groups.col_count) * size;
  const double dst_group = static_cast<double>(groups.row_count) * size;
  work.src_bytes *= turns * (1 + model.costs.src_group / src_group);
  work.dst_bytes *= turns * (1 + model.costs.dst_group / dst_group);
  return estimate_of(model, work);
}

// The same where the two sides' elements differ in size.
template <class Config>
Estimate estimate_of_changes(const Config& config, const Problem& normal, const Model& model,
                             const Kernel& kernel, const TileCosts& costs) {
  const Costs& c = model.costs;
  const Groups groups = groups_of(normal, config.row_modes, config.col_modes);
  const TileSides sides = sides_of(config, normal);
  const double halo = static_cast<double>(sides.halo) / static_cast<double>(sides.rows);
  const auto elements = static_cast<double>(sides.rows * sides.cols);
  const double src_size = normal.src_type.size(), dst_size = normal.dst_type.size();
  const int more_modes = config.row_modes + config.col_modes - 2;
  Work work;
  work.blocks = static_cast<double>(counts_of(config, groups, normal).all);
  work.resident =
      resident_blocks(model.device, kernel.threads, kernel.shared_bytes, kernel.min_blocks);
  const double vectors = elements * (src_size + dst_size) / 32;
  work.instructions =
      work.blocks *
      ((1 + halo) * (vectors * costs.lane + elements * (costs.element + convert_lane(normal))) +
       kernel.threads * (costs.thread + costs.mode * more_modes));
  work.wavefronts = work.blocks * elements * (1 + halo) * std::min(src_size, dst_size) / 512 * 8;
  work.block_seconds = costs.block + costs.block_byte * elements * (src_size + dst_size) / 2 +
                       (more_modes > 0 ? c.table_block : 0);
  work.src_bytes = src_moved(model, runs_of(normal, groups.cols, config.col_modes, groups.col_count,
                                            sides.cols, &Mode::src_stride)) *
                   (1 + c.halo * halo);
  MovedRuns written = runs_of(normal, groups.rows, config.row_modes, groups.row_count, sides.rows,
                              &Mode::dst_stride);
  if (sides.halo > 0) written.between = static_cast<double>(groups.row_count) * dst_size;
  work.dst_bytes = dst_moved(model, written);
  return estimate_of(model, work);
}

// A smaller shape holds all of the rows, or all of the columns, too.
template <std::size_t count>
bool is_too_large(const kernels::TileShape (&shapes)[count], int shape, const Groups& groups,
                  const Problem& normal) {
  const std::int64_t size = normal.dst_type.size();
  const kernels::TileShape& one = shapes[shape];
  for (const kernels::TileShape& other : shapes) {
    const bool narrower = other.across < one.across && other.down_bytes == one.down_bytes &&
                          groups.col_count * size <= other.across * 16;
    const bool lower = other.down_bytes < one.down_bytes && other.across == one.across &&
                       groups.row_count * size <= other.down_bytes;
    if (narrower || lower) return true;
  }
  return false;
}

template <class Config>
std::string describe_as(const Config& config, const Problem& normal) {
  const TileSides sides = sides_of(config, normal);
  std::string text =
      fmt::format("{} x {} of {}", sides.cols, sides.rows,
                  normal.converts() ? normal.src_type.name() + " to " + normal.dst_type.name()
                                    : std::to_string(normal.dst_type.size()) + " B");
  if (config.row_modes + config.col_modes > 2) {
    text += fmt::format(", {} + {} modes", config.col_modes, config.row_modes);
  }
  return text;
}

// With the bytes that may be read.
template <class Args>
Args with_span(Args args, const Problem& normal) {
  const Reach reach = src_reach(normal);
  args.src_low = reach.low - normal.src_offset;
  args.src_high = reach.high - normal.src_offset;
  return args;
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
    for (int shape = 0; shape < kernels::tile_shape_count(normal.dst_type.size()); ++shape) {
      if (is_too_large(kernels::tile_shapes, shape, groups, normal)) continue;
      const TileConfig config{static_cast<std::uint8_t>(shape),
                              static_cast<std::uint8_t>(groups.row_modes),
                              static_cast<std::uint8_t>(groups.col_modes)};
      if (counts_of(config, groups, normal).all <= most_tiles) add(config);
    }
  });
}

Estimate estimate(const TileConfig& config, const Problem& normal, const Model& model) {
  const Costs& c = model.costs;
  return estimate_of_tiles(config, normal, model, kernel_of<kernels::TileArgs>(config, normal),
                           {c.tile_lane, c.tile_element, c.tile_thread, c.tile_mode, c.tile_block,
                            c.tile_block_byte, c.tile_turn},
                           0);
}

std::string describe(const TileConfig& config, const Problem& normal) {
  return describe_as(config, normal);
}

Prepared prepare(const TileConfig& config, const Problem& normal) {
  return prepared(kernels::TileArgs{}, config, normal);
}

}  // namespace tile

namespace tile_convert {

const char* why_not(const Problem& normal, const DeviceInfo&) {
  if (const char* rule = why_no_cast(normal)) return rule;
  return why_no_groups(normal);
}

void configure(const Problem& normal, const Alignment& start, const DeviceInfo&,
               const std::function<void(const TileConvertConfig&)>& add) {
  for_each_grouping(normal, [&](const Groups& groups) {
    if (!is_aligned(groups, normal, start)) return;
    const TileConvertConfig config{{0, static_cast<std::uint8_t>(groups.row_modes),
                                    static_cast<std::uint8_t>(groups.col_modes)}};
    if (counts_of(config, groups, normal).all <= most_tiles) add(config);
  });
}

Estimate estimate(const TileConvertConfig& config, const Problem& normal, const Model& model) {
  const Costs& c = model.costs;
  return estimate_of_changes(
      config, normal, model, kernel_of<kernels::TileConvertArgs>(config, normal),
      {c.tile_lane, c.tile_element, c.tile_thread, c.tile_mode, c.tile_block, c.tile_block_byte});
}

std::string describe(const TileConvertConfig& config, const Problem& normal) {
  return describe_as(config, normal);
}

Prepared prepare(const TileConvertConfig& config, const Problem& normal) {
  kernels::TileConvertArgs args;
  args.values = value_args(normal);
  Groups groups = groups_of(normal, config.row_modes, config.col_modes);
  groups.rows.size = config.row_modes;
  groups.cols.size = config.col_modes;
  Run rest;
  for (int i = normal.rank(); i-- > 0;) {
    if (groups.in_rows(i) || groups.in_cols(i)) continue;
    rest.mode[static_cast<std::size_t>(rest.size++)] = static_cast<std::uint8_t>(i);
  }
  args.scale = group_vector(normal.scale, normal, groups.rows, groups.cols, rest);
  args.bias = group_vector(normal.bias, normal, groups.rows, groups.cols, rest);
  return prepared(args, config, normal);
}

}  // namespace tile_convert

namespace skew {

const char* why_not(const Problem& normal, const DeviceInfo&) {
  return why_no_groups(normal);
}

void configure(const Problem& normal, const Alignment& start, const DeviceInfo& device,
               const std::function<void(const SkewConfig&)>& add) {
  for_each_grouping(normal, [&](const Groups& groups) {
    if (is_aligned(groups, normal, start)) return;
    const std::int64_t size = normal.dst_type.size();
    const int shapes = kernels::skew_shape_count + (size <= 4 ? kernels::turned_shape_count : 0);
    // Single bytes gathered from rows of any phase would collide.
    for (int shape = size == 1 ? kernels::skew_shape_count : 0; shape < shapes; ++shape) {
      const int turned = shape - kernels::skew_shape_count;
      if (turned >= 0 && is_too_large(kernels::turned_shapes, turned, groups, normal)) continue;
      const SkewConfig config{{static_cast<std::uint8_t>(shape),
                               static_cast<std::uint8_t>(groups.row_modes),
                               static_cast<std::uint8_t>(groups.col_modes)}};
      if (counts_of(config, groups, normal).all <= most_tiles) add(config);
    }
  });
  (void)device;
}

Estimate estimate(const SkewConfig& config, const Problem& normal, const Model& model) {
  const Costs& c = model.costs;
  const TileCosts costs = is_turned(config)
                              ? TileCosts{c.turned_lane, c.turned_element, c.turned_thread,
                                          c.turned_mode, c.turned_block,   c.turned_block_byte}
                              : TileCosts{c.skew_lane, c.skew_element, c.skew_thread,
                                          c.skew_mode, c.skew_block,   c.skew_block_byte};
  constexpr double sector = 32;
  return estimate_of_tiles(config, normal, model, kernel_of<kernels::SkewArgs>(config, normal),
                           costs, sector);
}

std::string describe(const SkewConfig& config, const Problem& normal) {
  return describe_as(config, normal) + (is_turned(config) ? ", turned in registers" : "");
}

Prepared prepare(const SkewConfig& config, const Problem& normal) {
  return prepared(with_span(kernels::SkewArgs{}, normal), config, normal);
}

}  // namespace skew

namespace skew_convert {

const char* why_not(const Problem& normal, const DeviceInfo&) {
  if (const char* rule = why_no_common_cast(normal)) return rule;
  if (const char* rule = why_misplaced(normal)) return rule;
  return why_no_groups(normal);
}

void configure(const Problem& normal, const Alignment& start, const DeviceInfo&,
               const std::function<void(const SkewConvertConfig&)>& add) {
  for_each_grouping(normal, [&](const Groups& groups) {
    constexpr int least = 64;  // bytes: of shorter ones most of a tile would be empty
    if (is_aligned(groups, normal, start) || groups.row_count * normal.dst_type.size() < least ||
        groups.col_count * normal.src_type.size() < least) {
      return;
    }
    for (const int shape : kernels::skew_convert_shapes) {
      const SkewConvertConfig config{{static_cast<std::uint8_t>(shape),
                                      static_cast<std::uint8_t>(groups.row_modes),
                                      static_cast<std::uint8_t>(groups.col_modes)}};
      if (counts_of(config, groups, normal).all <= most_tiles) add(config);
    }
  });
}

Estimate estimate(const SkewConvertConfig& config, const Problem& normal, const Model& model) {
  const Costs& c = model.costs;
  return estimate_of_changes(config, normal, model,
                             kernel_of<kernels::SkewConvertArgs>(config, normal),
                             {c.turned_lane, c.turned_element, c.turned_thread, c.turned_mode,
                              c.turned_block, c.turned_block_byte});
}

std::string describe(const SkewConvertConfig& config, const Problem& normal) {
  return describe_as(config, normal);
}

Prepared prepare(const SkewConvertConfig& config, const Problem& normal) {
  kernels::SkewConvertArgs args;
  args.values = value_args(normal);
  return prepared(with_span(args, normal), config, normal);
}

}  // namespace skew_convert
}  // namespace cornerturn::plan::gpu
