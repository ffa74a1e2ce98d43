#include "plan/gpu/skew.hpp"

#include <bit>
#include <span>

#include "core/validate.hpp"
#include "plan/gpu/convert.hpp"

namespace cornerturn::plan::gpu::skew {
namespace {

// Shapes of the form that gathers are numbered before those of the one that transposes in
// registers.
bool is_in_registers(const TileConfig& config) {
  return config.shape >= kernels::skew_shape_count;
}

TileSides sides_of(const TileConfig& config, const Problem& normal) {
  if (is_in_registers(config)) {
    const int shape = config.shape - kernels::skew_shape_count;
    return gpu::sides_of(kernels::skew_register_shapes[shape], normal, sector);
  }
  const int size = normal.dst_type.size();
  const int kind = std::countr_zero(static_cast<unsigned>(size)) - 1;
  const kernels::SkewShape& shape = kernels::skew_shapes[kind][config.shape];
  return {shape.down_bytes / size, shape.column_bytes / size, sector / size};
}

// Whether rows and columns of values that change are long enough: else most of a tile would be
// empty.
bool are_long(const Groups& groups, const Problem& normal) {
  constexpr int least = 64;  // bytes
  return groups.row_count * normal.dst_type.size() >= least &&
         groups.col_count * normal.src_type.size() >= least;
}

// Whether usual tiles would leave processors with little to do.
bool are_few(const Groups& groups, const Problem& normal, const DeviceInfo& device) {
  constexpr std::int64_t of_sm = 8;
  const TileSides usual = gpu::sides_of(kernels::skew_register_shapes[0], normal, sector);
  return counts_of(usual, groups).all <= of_sm * device.sm_count;
}

// Whether rows of the source are so short that usual tiles would be half empty, but no shorter than
// two vectors, and those of the destination long enough.
bool are_narrow(const Groups& groups, const Problem& normal) {
  const kernels::TileShape& shape = kernels::skew_register_shapes[kernels::narrow_register_shape];
  const std::int64_t bytes = groups.col_count * normal.src_type.size();
  return normal.src_type.size() <= 2 && bytes >= 32 && bytes <= shape.across * 16 &&
         groups.row_count * normal.dst_type.size() >= shape.down_bytes;
}

// Whether tiles that end with sectors are worth it where others end with vectors, as measured: for
// large matrices of small elements.
bool gains_from_sectors(const Groups& groups, const Problem& normal) {
  constexpr std::int64_t large = 64 << 20;
  return normal.dst_type.size() <= 2 && !normal.converts() && groups.row_modes == 1 &&
         groups.col_modes == 1 && normal.bytes() >= large && begin_in_sectors(groups, normal);
}

}  // namespace

const char* Family::why_not(const Problem& normal, const DeviceInfo&) {
  if (normal.converts()) {
    if (const char* rule = why_no_common_cast(normal)) return rule;
    if (const char* rule = why_misplaced(normal)) return rule;
  }
  return why_no_groups(normal);
}

void Family::configure(const Problem& normal, const Alignment& start, const DeviceInfo& device,
                       Common& runs, const Add<TileConfig>& add) {
  constexpr int gathered = kernels::skew_shape_count;
  const DstRow row = dst_row(normal);
  for_each_grouping(normal, runs, [&](const Groups& groups) {
    if (is_aligned(groups, normal, start) && !gains_from_sectors(groups, normal)) return;
    const bool prefetches = rows_gain_from_prefetching(row, groups, normal, start, device);
    const auto offer = [&](int shape) {
      const TileConfig config{static_cast<std::uint8_t>(shape),
                              static_cast<std::uint8_t>(groups.row_modes),
                              static_cast<std::uint8_t>(groups.col_modes), prefetches};
      if (counts_of(sides_of(config, normal), groups).all <= most_tiles) add(config);
    };
    if (normal.converts()) {
      if (!are_long(groups, normal)) return;
      for (const int shape : kernels::changing_skew_shapes) offer(gathered + shape);
      return;
    }
    const int size = normal.dst_type.size();
    // Single bytes gathered from rows of any phase would collide.
    for (int shape = 0; shape < gathered; ++shape) {
      const bool small = shape == kernels::small_skew_shape;
      if (!kernels::has_skew_shape(shape, size)) continue;
      if (!small || are_few(groups, normal, device)) offer(shape);
    }
    if (size > 4) return;
    constexpr auto usual =
        std::span(kernels::skew_register_shapes).first<kernels::narrow_register_shape>();
    for (int shape = 0; shape < kernels::narrow_register_shape; ++shape) {
      if (!is_too_large(usual, shape, groups, normal)) offer(gathered + shape);
    }
    if (are_narrow(groups, normal)) offer(gathered + kernels::narrow_register_shape);
    if (size == 1 && are_few(groups, normal, device)) {
      offer(gathered + kernels::small_register_shape);
    }
  });
}

Demand Family::demand(const TileConfig& config, const Problem& normal, const Model& model,
                      const Costs& c, Common& runs) {
  TileCosts costs;
  if (is_in_registers(config)) {
    costs = {.block = c.register_block, .block_turn = c.register_block_turn};
  } else {
    costs = {.thread = c.thread,
             .block = c.block,
             .block_turn = c.block_turn,
             .barriers = c.barriers,
             .whole_turns = false};
  }
  const Groups groups = groups_of(normal, runs, config.row_modes, config.col_modes);
  return demand_of_tiles(groups, sides_of(config, normal),
                         kernel_of<kernels::SkewArgs>(config, normal), costs, sector, normal,
                         model);
}

std::string Family::describe(const TileConfig& config, const Problem& normal) {
  const bool says_how = is_in_registers(config) && !normal.converts();
  return describe_tiles(config, sides_of(config, normal), normal) +
         (says_how ? ", transposed in registers" : "") + (config.prefetches ? cut_prefetched : "");
}

Launchable<kernels::SkewArgs> Family::prepare(const TileConfig& config, const Problem& normal) {
  kernels::SkewArgs args;
  const Reach reach = src_reach(normal);
  args.src_low = reach.low - normal.src_offset;
  args.src_high = reach.high - normal.src_offset;
  const Groups groups = groups_of(normal, GroupRuns(normal), config.row_modes, config.col_modes);
  args.has_edges = have_edges(groups, normal);
  args.whole_rows = have_whole_rows(sides_of(config, normal), groups, normal);
  return launch_of_tiles(args, config, sides_of(config, normal), normal);
}

}  // namespace cornerturn::plan::gpu::skew
