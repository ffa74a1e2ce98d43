// What tile and skew share: a block takes some rows by some columns of a matrix (groups.hpp).
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>

#include "core/problem.hpp"
#include "kernels/tile.hpp"
#include "plan/gpu/convert.hpp"
#include "plan/gpu/family.hpp"
#include "plan/gpu/groups.hpp"
#include "plan/gpu/roofline.hpp"
#include "plan/gpu/sectors.hpp"

namespace cornerturn::plan::gpu {

struct TileConfig {
  std::uint8_t shape = 0;      ///< which of the kernels' shapes
  std::uint8_t row_modes = 1;  ///< of the destination's run, its fastest first
  std::uint8_t col_modes = 1;  ///< of the source's run, its fastest first
  bool prefetches = false;     ///< the sectors that rows of the destination leave in part

  friend bool operator==(const TileConfig&, const TileConfig&) = default;
};

/// Elements of a tile.
struct TileSides {
  std::int64_t rows = 1;  ///< elements of a destination row
  std::int64_t cols = 1;
  std::int64_t halo = 0;  ///< rows more that the last tile of a column takes
};

/// The tile that is transposed in registers and laid down as rows of the destination. `halo_bytes`:
/// of a row of the destination.
TileSides sides_of(const kernels::TileShape& shape, const Problem& normal,
                   std::int64_t halo_bytes = 0);

/// Whether a smaller one of the shapes holds all of the rows, or all of the columns, too.
bool is_too_large(std::span<const kernels::TileShape> shapes, int shape, const Groups& groups,
                  const Problem& normal);

inline constexpr std::int64_t most_tiles = (std::int64_t{1} << 31) - 1;

/// Whether rows of the destination follow each other without a gap, are a sector or longer, and
/// short enough for a tile to hold them whole.
bool have_whole_rows(const TileSides& sides, const Groups& groups, const Problem& normal);

/// The tiles of one matrix, and of all.
struct TileCounts {
  std::int64_t down = 1;
  std::int64_t across = 1;
  std::int64_t all = 1;
};
TileCounts counts_of(const TileSides& sides, const Groups& groups);

/// Whether tiles should ask for the sectors that the rows of these groups leave in part.
bool rows_gain_from_prefetching(const DstRow& row, const Groups& groups, const Problem& normal,
                                const Alignment& start, const DeviceInfo& device);

/// How many tiles of each column are taken before those of the next one.
std::int64_t tiles_of_band(const TileCounts& counts, const TileSides& sides, const Problem& normal);

/// "64 x 64 of 4 B, 2 + 1 modes"
std::string describe_tiles(const TileConfig& config, const TileSides& sides, const Problem& normal);

/// What a thread, a block that is alone and each turn of its threads cost, in which they take four
/// vectors.
struct TileCosts {
  double thread = 0, block = 0, block_turn = 0, barriers = 0;
  bool whole_turns = true;
};

/// The kernel that a configuration names, as far as estimates ask.
struct TileKernel {
  int threads = 0;
  int min_blocks = 0;
  unsigned shared_bytes = 0;
  bool prefetches = false;
};
template <class Args>
TileKernel kernel_of(const TileConfig& config, const Problem& normal) {
  Args args;
  args.element_bytes = normal.dst_type.size();
  args.values = value_args(normal);
  if constexpr (requires { args.scale; }) {
    args.scale.present = normal.scale.present;
    args.bias.present = normal.bias.present;
  }
  args.shape = config.shape;
  args.row_modes.count = config.row_modes;
  args.col_modes.count = config.col_modes;
  TileKernel kernel;
  dispatch(args, [&]<class K>() {
    kernel = {K::threads, K::min_blocks, K::shared_bytes, config.prefetches};
  });
  return kernel;
}

/// `halo_bytes`: of a row of the destination, which neighbouring tiles both take, so that their
/// shares of it meet between sectors.
Demand demand_of_tiles(const Groups& groups, const TileSides& sides, const TileKernel& kernel,
                       const TileCosts& costs, double halo_bytes, const Problem& normal,
                       const Model& model);

/// From one matrix of tiles to the next: through the modes in neither group.
kernels::Walk walk_between(const Groups& groups, const Problem& normal);

/// Fills in the groups and the rest.
template <class Args>
void fill_groups(Args& args, const Groups& groups, const Problem& normal) {
  const auto fill = [&](kernels::TileModes& to, const Run& run, int modes,
                        std::int64_t Mode::*stride) {
    to.count = modes;
    for (int i = 0; i < modes; ++i) {
      const Mode& mode = normal.modes[run[i]];
      to.extent[i] = FastDivide(static_cast<std::uint32_t>(mode.extent));
      to.stride[i] = mode.*stride;
    }
    return to.stride[0];
  };
  args.element_bytes = normal.dst_type.size();
  args.matrix.row_step = fill(args.row_modes, groups.rows, groups.row_modes, &Mode::src_stride);
  args.matrix.col_step = fill(args.col_modes, groups.cols, groups.col_modes, &Mode::dst_stride);
  args.matrix.rows = static_cast<std::uint32_t>(groups.row_count);
  args.matrix.cols = static_cast<std::uint32_t>(groups.col_count);
  args.rest = walk_between(groups, normal);
}

/// Completes the arguments, and the launch.
template <class Args>
Launchable<Args> launch_of_tiles(Args args, const TileConfig& config, const TileSides& sides,
                                 const Problem& normal) {
  const Groups groups = groups_of(normal, GroupRuns(normal), config.row_modes, config.col_modes);
  const TileCounts tiles = counts_of(sides, groups);
  args.shape = config.shape;
  args.prefetches = config.prefetches;
  args.values = value_args(normal);
  const auto down = static_cast<std::uint32_t>(tiles.down);
  const auto across = static_cast<std::uint32_t>(tiles.across);
  const auto of_band = static_cast<std::uint32_t>(tiles_of_band(tiles, sides, normal));
  args.matrix.order = kernels::TileOrder(down, of_band, static_cast<std::uint32_t>(groups.rest));
  args.bands = args.matrix.order.bands(down, across);
  args.tiles = FastDivide(down * across);
  fill_groups(args, groups, normal);
  Launchable<Args> ready{args, {}};
  dispatch(args, [&]<class Kernel>() {
    ready.launch.block = {static_cast<unsigned>(Kernel::threads), 1, 1};
    ready.launch.dynamic_shared = Kernel::shared_bytes;
  });
  ready.launch.grid = {static_cast<unsigned>(tiles.all), 1, 1};
  return ready;
}

}  // namespace cornerturn::plan::gpu
