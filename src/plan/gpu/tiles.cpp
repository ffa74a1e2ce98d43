#include "plan/gpu/tiles.hpp"

#include <fmt/format.h>

#include <cmath>
#include <numeric>

#include "core/divide.hpp"

namespace cornerturn::plan::gpu {
namespace {

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

// The share of the elements that tiles have room for which there is.
double used_share(const TileSides& sides, const Groups& groups, const TileCounts& counts) {
  const auto room = static_cast<double>(counts.down * sides.rows * counts.across * sides.cols);
  return std::min(1.0, static_cast<double>(groups.row_count * groups.col_count) / room);
}

// What memory moves for tiles.
void add_moved(Demand& demand, const Groups& groups, const TileSides& sides,
               const TileKernel& kernel, double halo_bytes, const Problem& normal,
               const Model& model) {
  demand.src_bytes = src_moved(model, runs_of(normal, groups.cols, groups.col_modes,
                                              groups.col_count, sides.cols, &Mode::src_stride));
  MovedRuns written = runs_of(normal, groups.rows, groups.row_modes, groups.row_count, sides.rows,
                              &Mode::dst_stride);
  if (halo_bytes > 0)
    written.between = static_cast<double>(groups.row_count * normal.dst_type.size());
  demand.dst_bytes = dst_moved(model, written);
  if (!kernel.prefetches) demand.dst_bytes += model.cut_bytes();
}

}  // namespace

TileSides sides_of(const kernels::TileShape& shape, const Problem& normal,
                   std::int64_t halo_bytes) {
  const std::int64_t src_size = normal.src_type.size(), dst_size = normal.dst_type.size();
  return {shape.down_bytes / std::min(src_size, dst_size), shape.across * 16 / src_size,
          halo_bytes / dst_size};
}

bool is_too_large(std::span<const kernels::TileShape> shapes, int shape, const Groups& groups,
                  const Problem& normal) {
  const std::int64_t size = normal.dst_type.size();
  const kernels::TileShape& one = shapes[static_cast<std::size_t>(shape)];
  return std::any_of(shapes.begin(), shapes.end(), [&](const kernels::TileShape& other) {
    const bool narrower = other.across < one.across && other.down_bytes == one.down_bytes &&
                          groups.col_count * size <= other.across * 16;
    const bool lower = other.down_bytes < one.down_bytes && other.across == one.across &&
                       groups.row_count * size <= other.down_bytes;
    return narrower || lower;
  });
}

bool have_whole_rows(const TileSides& sides, const Groups& groups, const Problem& normal) {
  const std::int64_t row = groups.row_count * normal.dst_type.size();
  return !normal.converts() && groups.col_modes == 1 && row >= sector &&
         groups.row_count < sides.rows + sides.halo &&
         normal.modes[groups.cols[0]].dst_stride == row;
}

TileCounts counts_of(const TileSides& sides, const Groups& groups) {
  TileCounts counts;
  counts.down = ceil_div(std::max<std::int64_t>(groups.row_count - sides.halo, 1), sides.rows);
  counts.across = ceil_div(groups.col_count, sides.cols);
  counts.all = counts.down * counts.across * groups.rest;
  return counts;
}

bool rows_gain_from_prefetching(const DstRow& row, const Groups& groups, const Problem& normal,
                                const Alignment& start, const DeviceInfo& device) {
  return groups.row_count * normal.dst_type.size() == row.bytes &&
         gains_from_prefetching(row, normal, start, device);
}

// Neighbours in a row both touch the lines of the source in which one ends and the other begins.
// With whole columns between them the L2 has lost these where columns are long. Where it has not,
// bands only make the stretches of memory shorter that blocks work on at the same time; but where
// rows of the source are short, blocks that follow each other closely read all of each. Measured on
// an H200, whose L2 cache has 60 MiB, and taken for other GPUs as well.
std::int64_t tiles_of_band(const TileCounts& counts, const TileSides& sides,
                           const Problem& normal) {
  constexpr double most = 16 << 20;  // bytes that a column moves
  constexpr double good = 8 << 20;
  constexpr std::int64_t short_row = 10 << 10;  // bytes
  constexpr std::int64_t good_of_short = 8;     // tiles
  const double tile = static_cast<double>(sides.rows * sides.cols) *
                      (normal.src_type.size() + normal.dst_type.size());
  if (counts.across == 1 || static_cast<double>(counts.down) * tile <= most) return counts.down;
  const std::int64_t row = counts.across * sides.cols * normal.src_type.size();
  const auto of_good = row <= short_row
                           ? good_of_short
                           : std::max<std::int64_t>(1, static_cast<std::int64_t>(good / tile));
  return ceil_div(counts.down, ceil_div(counts.down, of_good));
}

kernels::Walk walk_between(const Groups& groups, const Problem& normal) {
  kernels::WalkMaker<kernels::Walk> between;
  for (int i = normal.rank(); i-- > 0;) {  // the destination's fastest first
    if (groups.in_rows(i) || groups.in_cols(i)) continue;
    const Mode& mode = normal.modes[i];
    between.add(mode.extent, mode.src_stride, mode.dst_stride);
  }
  return between.walk;
}

std::string describe_tiles(const TileConfig& config, const TileSides& sides,
                           const Problem& normal) {
  std::string text =
      fmt::format("{} x {} of {}", sides.cols, sides.rows,
                  normal.converts() ? normal.src_type.name() + " to " + normal.dst_type.name()
                                    : std::to_string(normal.dst_type.size()) + " B");
  if (config.row_modes + config.col_modes > 2) {
    text += fmt::format(", {} + {} modes", config.col_modes, config.row_modes);
  }
  return text;
}

Demand demand_of_tiles(const Groups& groups, const TileSides& sides, const TileKernel& kernel,
                       const TileCosts& costs, double halo_bytes, const Problem& normal,
                       const Model& model) {
  const SharedCosts& c = model.costs;
  const double src_size = normal.src_type.size(), dst_size = normal.dst_type.size();
  const auto elements = static_cast<double>(sides.rows * sides.cols);
  const double tile_bytes = elements * (src_size + dst_size) / 2;  // of the two sides, on average
  const double vectors = tile_bytes / 16;
  const double halo = halo_bytes / (static_cast<double>(sides.rows) * dst_size);

  const TileCounts counts = counts_of(sides, groups);
  const double used = used_share(sides, groups, counts);

  Demand demand;
  demand.blocks = static_cast<double>(counts.all);
  demand.resident =
      resident_blocks(model.device, kernel.threads, kernel.shared_bytes, kernel.min_blocks);
  const double of_element = normal.converts() ? convert_lane(normal, c) : 0.0;
  const double full_blocks = demand.blocks * used;
  demand.instructions = full_blocks * (1 + halo) * elements * of_element +
                        demand.blocks * kernel.threads * costs.thread;
  // Whole vectors on both legs: four wavefronts for each 512 bytes.
  demand.wavefronts = full_blocks * elements * std::min(src_size, dst_size) * (1 + halo) / 512 * 8;
  demand.barriers = costs.barriers;
  const double turns = vectors * (1 + halo) / 4 / kernel.threads;
  demand.block_seconds = costs.block +
                         costs.block_turn * (costs.whole_turns ? std::ceil(turns) : turns) +
                         (groups.row_modes + groups.col_modes > 2 ? c.table_block : 0.0);
  add_moved(demand, groups, sides, kernel, halo_bytes, normal, model);
  return demand;
}

}  // namespace cornerturn::plan::gpu
