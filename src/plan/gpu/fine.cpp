#include "plan/gpu/fine.hpp"

#include <fmt/format.h>

#include "plan/gpu/tiles.hpp"

namespace cornerturn::plan::gpu::fine {
namespace {

// A thread does a quarter of what one of `tile` does, whose instructions a fit has found.
constexpr double thread_instructions = 218 / 4.0;

// Rows and columns have one mode each.
Groups matrix_of(const Problem& normal) {
  return groups_of(normal, GroupRuns(normal), 1, 1);
}

TileSides sides_of(const Problem& normal) {
  const int side = kernels::fine_side(normal.dst_type.size());
  return {side, side};
}

}  // namespace

const char* Family::why_not(const Problem& normal, const DeviceInfo& device) {
  if (normal.dst_type.size() > 8) return "elements of more than 8 B";
  if (2 * normal.bytes() > device.l2_bytes / 3)
    return "the arrays fill more than a third of the L2";
  return why_no_groups(normal);
}

void Family::configure(const Problem& normal, const Alignment& start, const DeviceInfo&,
                       const Add<FineConfig>& add) {
  const Groups matrix = matrix_of(normal);
  if (is_aligned(matrix, normal, start) && counts_of(sides_of(normal), matrix).all <= most_tiles) {
    add({});
  }
}

Demand Family::demand(const FineConfig&, const Problem& normal, const Model& model,
                      const Costs& c) {
  TileKernel kernel;
  kernels::FineArgs args;
  args.element_bytes = normal.dst_type.size();
  dispatch(args, [&]<class K>() { kernel = {K::threads, K::min_blocks, K::shared_bytes, false}; });
  return demand_of_tiles(matrix_of(normal), sides_of(normal), kernel,
                         {.thread = thread_instructions, .block = c.block}, 0, normal, model);
}

std::string Family::describe(const FineConfig&, const Problem& normal) {
  const TileSides sides = sides_of(normal);
  return fmt::format("{} x {} of {} B", sides.cols, sides.rows, normal.dst_type.size());
}

Launchable<kernels::FineArgs> Family::prepare(const FineConfig&, const Problem& normal) {
  const Groups matrix = matrix_of(normal);
  const TileCounts tiles = counts_of(sides_of(normal), matrix);
  const Mode& row = normal.modes[matrix.rows[0]];
  const Mode& col = normal.modes[matrix.cols[0]];
  kernels::FineArgs args;
  args.row_step = row.src_stride;
  args.col_step = col.dst_stride;
  args.rows = static_cast<std::uint32_t>(matrix.row_count);
  args.cols = static_cast<std::uint32_t>(matrix.col_count);
  args.down = FastDivide(static_cast<std::uint32_t>(tiles.down));
  args.tiles = FastDivide(static_cast<std::uint32_t>(tiles.down * tiles.across));
  args.matrices = static_cast<std::uint32_t>(matrix.rest);
  args.element_bytes = normal.dst_type.size();
  args.rest = walk_between(matrix, normal);
  Launchable<kernels::FineArgs> ready{args, {{static_cast<unsigned>(tiles.all), 1, 1}, {}, 0}};
  dispatch(args, [&]<class K>() {
    ready.launch.block = {static_cast<unsigned>(K::threads), 1, 1};
    ready.launch.dynamic_shared = K::shared_bytes;
  });
  return ready;
}

}  // namespace cornerturn::plan::gpu::fine
