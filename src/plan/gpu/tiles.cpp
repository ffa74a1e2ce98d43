#include "plan/gpu/tiles.hpp"

#include <fmt/format.h>

#include <cmath>
#include <numeric>

#include "core/divide.hpp"
#include "plan/gpu/neighbours.hpp"

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

// Of the elements that tiles have room for, the share that there is.
double used_share(const TileSides& sides, const Groups& groups, const TileCounts& counts) {
  const auto room = static_cast<double>(counts.down * sides.rows * counts.across * sides.cols);
  return std::min(1.0, static_cast<double>(groups.row_count * groups.col_count) / room);
}

// Tiles follow one another along rows of the destination, as many as a band has, then along
// columns, then in order of the destination. The modes of a group before the one that a tile ends
// in are all in it.
BlockWalk walk_of(const Problem& normal, const TileSides& sides, const Groups& groups,
                  const TileCounts& counts, std::int64_t of_band) {
  BlockWalk walk(normal);
  walk.blocks = static_cast<double>(counts.all);
  const auto of_group = [&](const Run& run, int modes, std::int64_t of_tile, std::int64_t step) {
    double left = static_cast<double>(of_tile);
    for (int k = 0; k < modes; ++k) {
      const auto tiles = static_cast<double>(step);
      walk[run[k]] = {std::max(left, 1.0), left >= 1 ? tiles : tiles / left};
      left /= static_cast<double>(normal.modes[run[k]].extent);
    }
  };
  of_group(groups.rows, groups.row_modes, sides.rows, 1);
  of_group(groups.cols, groups.col_modes, sides.cols, of_band);
  auto step = static_cast<double>(counts.down * counts.across);
  for (int i = normal.rank(); i-- > 0;) {
    if (groups.in_rows(i) || groups.in_cols(i)) continue;
    walk[i].step = step;
    step *= static_cast<double>(normal.modes[i].extent);
  }
  return walk;
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

Estimate estimate_of_tiles(const Groups& groups, const TileSides& sides, const TileKernel& kernel,
                           const TileCosts& costs, double halo_bytes, const Problem& normal,
                           const Model& model) {
  const SharedCosts& c = model.costs;
  const double src_size = normal.src_type.size(), dst_size = normal.dst_type.size();
  const auto elements = static_cast<double>(sides.rows * sides.cols);
  const double tile_bytes = elements * (src_size + dst_size) / 2;  // of the two sides, on average
  const double vectors = tile_bytes / 16;
  const double halo = halo_bytes / (static_cast<double>(sides.rows) * dst_size);
  const int more_modes = groups.row_modes + groups.col_modes - 2;

  const TileCounts counts = counts_of(sides, groups);
  const double used = used_share(sides, groups, counts);

  Work work;
  work.blocks = static_cast<double>(counts.all);
  work.resident =
      resident_blocks(model.device, kernel.threads, kernel.shared_bytes, kernel.min_blocks);
  const double of_element = costs.element + (normal.converts() ? convert_lane(normal, c) : 0.0);
  const double of_vector = costs.lane + (more_modes > 0 ? costs.table_lane : 0.0);
  const double full_blocks = work.blocks * (used + c.idle * (1 - used));
  work.instructions = full_blocks * (1 + halo) * (vectors * of_vector + elements * of_element) +
                      work.blocks * kernel.threads * (costs.thread + costs.mode * more_modes);
  // Whole vectors on both legs: four wavefronts for each 512 bytes.
  work.wavefronts = full_blocks * elements * std::min(src_size, dst_size) * (1 + halo) / 512 * 8;
  work.barriers = costs.barriers;
  const double turns = vectors * (1 + halo) / 4 / kernel.threads;
  work.block_seconds = costs.block +
                       costs.block_turn * (costs.whole_turns ? std::ceil(turns) : turns) +
                       (more_modes > 0 ? c.table_block : 0.0) +
                       c.walk_block * (normal.rank() - groups.row_modes - groups.col_modes);
  const double repeats =  // fitted to moves alone
      normal.converts() ? 1 : 1 + costs.repeat * (tile_bytes / 64 / kernel.threads - 1);
  if (model.least_seconds != nullptr) {
    work.src_bytes = model.least.src_bytes * repeats;
    work.dst_bytes = model.least.dst_bytes * repeats;
    const Estimate least = estimate_of(model, work);
    if (model.is_out_of_reach(least)) return least;
  }
  const std::int64_t of_band = tiles_of_band(counts, sides, normal);
  const BlockWalk walk = walk_of(normal, sides, groups, counts, of_band);
  MovedRuns read = runs_of(normal, groups.cols, groups.col_modes, groups.col_count, sides.cols,
                           &Mode::src_stride);
  read.late = met_late(model, normal, walk,
                       {{groups.cols.mode.data(), static_cast<std::size_t>(groups.col_modes)},
                        static_cast<double>(groups.col_count) * src_size,
                        static_cast<double>(counts.across),
                        static_cast<double>(of_band)},
                       &Mode::src_stride, 64);
  work.src_bytes = src_moved(model, read) * (1 + c.halo * halo);
  MovedRuns written = runs_of(normal, groups.rows, groups.row_modes, groups.row_count, sides.rows,
                              &Mode::dst_stride);
  written.late = met_late(model, normal, walk,
                          {{groups.rows.mode.data(), static_cast<std::size_t>(groups.row_modes)},
                           static_cast<double>(groups.row_count) * dst_size,
                           static_cast<double>(counts.down),
                           1},
                          &Mode::dst_stride, 32);
  if (halo_bytes > 0) written.between = static_cast<double>(groups.row_count) * dst_size;
  work.dst_bytes = dst_moved(model, written);
  if (!kernel.prefetches) work.dst_bytes += model.cut_bytes();
  if (!normal.converts()) {
    work.src_bytes *=
        repeats * (1 + c.src_group / (static_cast<double>(groups.col_count) * src_size));
    work.dst_bytes *=
        repeats * (1 + c.dst_group / (static_cast<double>(groups.row_count) * dst_size));
  }
  const auto rows_written = static_cast<double>(groups.col_count * groups.rest);
  const bool has_ends = halo_bytes > 0 && have_edges(groups, normal);
  if (has_ends && have_whole_rows(sides, groups, normal)) {
    work.instructions += rows_written * costs.joint;
  } else if (has_ends) {
    const double edges = 2 * rows_written;
    work.instructions += edges * halo_bytes / dst_size * costs.edge_lane;
    work.dst_bytes += edges * costs.edge_bytes;
  }
  return estimate_of(model, work);
}

}  // namespace cornerturn::plan::gpu
