// How tile and skew split the modes: rows (the destination's run), columns (the source's run), and
// the rest, through which blocks walk.
#pragma once

#include <cstdint>
#include <functional>

#include "core/normalise.hpp"
#include "kernels/tile.hpp"
#include "plan/gpu/runs.hpp"

namespace cornerturn::plan::gpu {

struct Groups {
  Run rows;  ///< all modes that the destination's run could have
  Run cols;  ///< the source's
  int row_modes = 1;
  int col_modes = 1;
  std::int64_t row_count = 1;  ///< elements
  std::int64_t col_count = 1;
  std::int64_t rest = 1;  ///< how many such matrices

  bool in_rows(int mode) const;
  bool in_cols(int mode) const;
};

/// Null when the problem can be split, else the rule that it breaks.
const char* why_no_groups(const Problem& normal);

/// The split with so many modes in either group.
Groups groups_of(const Problem& normal, int row_modes, int col_modes);

/// Every split that brings something: groups grow until their run is long.
void for_each_grouping(const Problem& normal, const std::function<void(const Groups&)>& visit);

/// Rows and columns begin at multiples of 16 bytes on both sides, and columns fill whole vectors.
bool is_aligned(const Groups& groups, const Problem& normal, const Alignment& start);

/// The tiles of one matrix, and of all. `halo`: rows more that the last tile of a column can have.
struct TileCounts {
  std::int64_t down = 1;
  std::int64_t across = 1;
  std::int64_t all = 1;
};
TileCounts count_tiles(const Groups& groups, std::int64_t tile_rows, std::int64_t tile_cols,
                       std::int64_t halo = 0);

/// Fills in what both kernels' arguments share.
template <class Args>
void fill_groups(Args& args, const Groups& groups, const TileCounts& tiles, const Problem& normal) {
  const auto fill = [&](kernels::TileGroup& to, const Run& run, int modes, std::int64_t count,
                        std::int64_t of_tiles, std::int64_t Mode::*stride) {
    to.modes = modes;
    to.count = static_cast<std::uint32_t>(count);
    to.tiles = FastDivide(static_cast<std::uint32_t>(of_tiles));
    for (int i = 0; i < modes; ++i) {
      const Mode& mode = normal.modes[run[i]];
      to.extent[i] = FastDivide(static_cast<std::uint32_t>(mode.extent));
      to.stride[i] = mode.*stride;
    }
  };
  args.element_bytes = normal.dst_type.size();
  fill(args.rows, groups.rows, groups.row_modes, groups.row_count, tiles.down, &Mode::src_stride);
  fill(args.cols, groups.cols, groups.col_modes, groups.col_count, tiles.across, &Mode::dst_stride);
  for (int i = normal.rank(); i-- > 0;) {  // the destination's fastest first
    if (groups.in_rows(i) || groups.in_cols(i)) continue;
    const Mode& mode = normal.modes[i];
    args.rest.axis[args.rest.rank++] = {FastDivide(static_cast<std::uint32_t>(mode.extent)),
                                        mode.src_stride, mode.dst_stride};
  }
}

}  // namespace cornerturn::plan::gpu
