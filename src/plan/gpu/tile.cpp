#include "plan/gpu/tile.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "core/divide.hpp"
#include "core/validate.hpp"
#include "plan/gpu/plan.hpp"
#include "plan/gpu/runs.hpp"
#include "plan/gpu/traffic.hpp"

namespace cornerturn::plan::gpu::tile {
namespace {

constexpr std::int64_t vector = 16;
constexpr std::int64_t most_elements = std::int64_t{1} << 30;  // of a group
constexpr int max_modes = kernels::TileGroup::max_modes;

struct Split {
  Run rows;  // the destination's run
  Run cols;  // the source's
};

Split split_of(const Problem& normal) {
  return {run_of(normal, &Mode::dst_stride), run_of(normal, &Mode::src_stride)};
}

struct Grid {
  std::int64_t row_tiles = 1;
  std::int64_t col_tiles = 1;
  std::int64_t rest = 1;
  std::int64_t rows = 1;  // of the problem's groups, elements
  std::int64_t cols = 1;
  std::int64_t tile_rows = 1;
  std::int64_t tile_cols = 1;
};

Grid grid_of(const TileConfig& config, const Problem& normal, const Split& split) {
  const kernels::TileShape& shape = kernels::tile_shapes[config.shape];
  const std::int64_t size = normal.dst_type.size();
  Grid grid;
  grid.rows = elements_of(normal, split.rows, config.row_modes);
  grid.cols = elements_of(normal, split.cols, config.col_modes);
  grid.tile_rows = shape.down_bytes / size;
  grid.tile_cols = shape.across * vector / size;
  grid.row_tiles = ceil_div(grid.rows, grid.tile_rows);
  grid.col_tiles = ceil_div(grid.cols, grid.tile_cols);
  grid.rest = normal.elements() / std::max<std::int64_t>(grid.rows * grid.cols, 1);
  return grid;
}

// Every vector is whole and aligned, on both sides.
bool is_aligned(const TileConfig& config, const Problem& normal, const Split& split,
                const Alignment& start) {
  if (start.src < vector || start.dst < vector) return false;
  std::int64_t src_bits = 0, dst_bits = 0;
  for (int i = 0; i < normal.rank(); ++i) {
    bool in_cols = false, in_rows = false;
    for (int k = 0; k < config.col_modes; ++k)
      in_cols |= split.cols.mode[static_cast<std::size_t>(k)] == i;
    for (int k = 0; k < config.row_modes; ++k)
      in_rows |= split.rows.mode[static_cast<std::size_t>(k)] == i;
    if (!in_cols) src_bits |= normal.modes[i].src_stride;
    if (!in_rows) dst_bits |= normal.modes[i].dst_stride;
  }
  const std::int64_t cols = elements_of(normal, split.cols, config.col_modes);
  return src_bits % vector == 0 && dst_bits % vector == 0 &&
         cols * normal.dst_type.size() % vector == 0;
}

}  // namespace

const char* why_not(const Problem& normal, const DeviceInfo&) {
  if (normal.rank() < 2) return "fewer than two modes";
  const Split split = split_of(normal);
  if (split.rows.size == 0) return "no mode of the destination is contiguous";
  if (split.cols.size == 0) return "no mode of the source is contiguous";
  if (split.rows.mode[0] == split.cols.mode[0]) return "both sides share their fastest mode";
  if (normal.modes[split.rows.mode[0]].extent >= most_elements ||
      normal.modes[split.cols.mode[0]].extent >= most_elements) {
    return "a mode of 2^30 elements or more";
  }
  if (normal.rank() > kernels::max_axes) return "more modes than any memory has elements for";
  return nullptr;
}

void configure(const Problem& normal, const Alignment& start, const DeviceInfo& device,
               const std::function<void(const TileConfig&)>& add) {
  const Split split = split_of(normal);
  const std::int64_t size = normal.dst_type.size();
  // How many modes a group can have without those of the other, and how many bring something.
  constexpr std::int64_t enough = 4096;  // bytes of a run
  for (int rows = 1; rows <= std::min(split.rows.size, max_modes); ++rows) {
    const std::int64_t row_count = elements_of(normal, split.rows, rows);
    if (row_count >= most_elements) break;
    if (rows > 1 && elements_of(normal, split.rows, rows - 1) * size >= enough) break;
    for (int cols = 1; cols <= std::min(split.cols.size, max_modes); ++cols) {
      const std::int64_t col_count = elements_of(normal, split.cols, cols);
      if (col_count >= most_elements) break;
      if (cols > 1 && elements_of(normal, split.cols, cols - 1) * size >= enough) break;
      bool apart = true;
      for (int i = 0; i < cols && apart; ++i) {
        for (int k = 0; k < rows; ++k) {
          apart &= split.cols.mode[static_cast<std::size_t>(i)] !=
                   split.rows.mode[static_cast<std::size_t>(k)];
        }
      }
      if (!apart) break;
      for (int shape = 0; shape < kernels::tile_shape_count; ++shape) {
        TileConfig config{static_cast<std::int8_t>(shape), static_cast<std::int8_t>(rows),
                          static_cast<std::int8_t>(cols), false};
        const Grid grid = grid_of(config, normal, split);
        if (grid.row_tiles * grid.col_tiles * grid.rest >= (std::int64_t{1} << 31)) continue;
        config.shifted = !is_aligned(config, normal, split, start);
        add(config);
      }
    }
  }
  (void)device;
}

double cost_seconds(const TileConfig& config, const Problem& normal, const DeviceInfo& device) {
  const Split split = split_of(normal);
  const Grid grid = grid_of(config, normal, split);
  const double size = normal.dst_type.size();
  const double tiles = static_cast<double>(grid.row_tiles * grid.col_tiles * grid.rest);
  // A tile that is not full costs its instructions all the same.
  const double full = static_cast<double>(normal.elements()) /
                      (tiles * static_cast<double>(grid.tile_rows * grid.tile_cols));
  const Traffic traffic = least_traffic(normal);
  const double memory = traffic.bytes() / device.copy_bandwidth;
  const double tile_bytes = static_cast<double>(grid.tile_rows * grid.tile_cols) * size;
  // Instructions of a vector of 16 bytes, both ways.
  const double instructions = (config.shifted ? 70.0 : 30.0) +
                              8.0 * (config.row_modes + config.col_modes - 2) +
                              (size <= 2 ? 16 : 0);
  const double issue =
      tiles * tile_bytes / 16 * instructions / (4.0 * 32 * 0.6 * device.sm_count * device.clock_hz);
  const double run =
      1 +
      12.0 /
          std::min<double>(static_cast<double>(std::min(grid.rows, grid.tile_rows)) * size, 512) +
      12.0 / std::min<double>(static_cast<double>(std::min(grid.cols, grid.tile_cols)) * size, 512);
  return device.launch_seconds + std::max(memory * run, issue) * (1 + 0.15 * (1 - full)) +
         0.2 * std::min(memory * run, issue);
}

std::string describe(const TileConfig& config, const Problem& normal) {
  const kernels::TileShape& shape = kernels::tile_shapes[config.shape];
  const std::int64_t size = normal.dst_type.size();
  const std::string_view modes = config.row_modes == 1 ? "" : " modes";
  return fmt::format("{} x {} of {} B{}{}", shape.across * vector / size, shape.down_bytes / size,
                     size, config.shifted ? ", rows begin anywhere" : "",
                     config.row_modes + config.col_modes == 2
                         ? ""
                         : fmt::format(", {} and {}{}", config.col_modes, config.row_modes,
                                       modes.empty() ? " modes" : modes));
}

Prepared prepare(const TileConfig& config, const Problem& normal) {
  const Split split = split_of(normal);
  const Grid grid = grid_of(config, normal, split);
  kernels::TileArgs args;
  args.element_bytes = normal.dst_type.size();
  args.shape = config.shape;
  args.shifted = config.shifted;
  const Reach reach = src_reach(normal);
  args.src_low = reach.low - normal.src_offset;
  args.src_high = reach.high - normal.src_offset;
  const auto fill = [&](kernels::TileGroup& group, const Run& run, int modes, std::int64_t count,
                        std::int64_t tiles, std::int64_t Mode::*stride) {
    group.modes = modes;
    group.count = static_cast<std::uint32_t>(count);
    group.tiles = FastDivide(static_cast<std::uint32_t>(tiles));
    for (int i = 0; i < modes; ++i) {
      const Mode& mode = normal.modes[run.mode[static_cast<std::size_t>(i)]];
      group.extent[i] = FastDivide(static_cast<std::uint32_t>(mode.extent));
      group.stride[i] = mode.*stride;
    }
  };
  fill(args.rows, split.rows, config.row_modes, grid.rows, grid.row_tiles, &Mode::src_stride);
  fill(args.cols, split.cols, config.col_modes, grid.cols, grid.col_tiles, &Mode::dst_stride);
  for (int i = normal.rank(); i-- > 0;) {  // the destination's fastest first
    bool taken = false;
    for (int k = 0; k < config.row_modes; ++k)
      taken |= split.rows.mode[static_cast<std::size_t>(k)] == i;
    for (int k = 0; k < config.col_modes; ++k)
      taken |= split.cols.mode[static_cast<std::size_t>(k)] == i;
    if (taken) continue;
    const Mode& mode = normal.modes[i];
    args.rest.axis[args.rest.rank++] = {FastDivide(static_cast<std::uint32_t>(mode.extent)),
                                        mode.src_stride, mode.dst_stride};
  }
  Prepared ready{args, {}};
  kernels::dispatch(args, [&]<class Kernel>() {
    ready.launch.block = {static_cast<unsigned>(Kernel::threads), 1, 1};
    ready.launch.dynamic_shared = Kernel::shared_bytes;
  });
  ready.launch.grid = {static_cast<unsigned>(grid.row_tiles * grid.col_tiles * grid.rest), 1, 1};
  return ready;
}

}  // namespace cornerturn::plan::gpu::tile
