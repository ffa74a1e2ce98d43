#include "plan/gpu/amax.hpp"

#include <algorithm>
#include <numeric>

#include "core/divide.hpp"
#include "plan/gpu/block_lines.hpp"

namespace cornerturn::plan::gpu::amax {
namespace {

using kernels::AmaxArgs;

constexpr std::int64_t least_row_bytes = 64;
constexpr std::int64_t vector_bytes = 16;

// Bytes of the elements that follow each other without gaps; 0 where none do.
std::int64_t row_bytes(const Problem& normal) {
  const std::int64_t size = normal.src_type.size();
  const bool rows = normal.rank() > 0 && normal.modes.back().src_stride == size;
  return rows ? normal.modes.back().extent * size : 0;
}

// Bytes from the first to the last element of the fastest mode; where they lie in sectors of their
// own, a sector.
std::int64_t run_bytes(const Problem& normal) {
  constexpr std::int64_t sector = 32;
  if (normal.rank() == 0 || normal.modes.back().src_stride >= sector) return sector;
  return std::max(sector, normal.modes.back().extent * normal.modes.back().src_stride);
}

// The most that a row begins past a multiple of 16.
int worst_phase(const Problem& normal, std::int64_t start) {
  std::int64_t granule = std::gcd(start, vector_bytes);
  for (int i = 0; i + 1 < normal.rank(); ++i) {
    granule = std::gcd(granule, normal.modes[i].src_stride);
  }
  return static_cast<int>(vector_bytes - granule);
}

}  // namespace

const char* Family::why_not(const Problem& normal, const DeviceInfo&) {
  if (!is_real(normal.src_type.kind())) return "the values are not real";
  if (normal.rank() > kernels::max_axes) {
    static_assert(kernels::max_axes == 40);
    return "more than 40 modes that do not follow each other in memory";
  }
  return nullptr;
}

void Family::configure(const Problem& normal, const Alignment& start, const DeviceInfo&,
                       const Add<AmaxConfig>& add) {
  if (row_bytes(normal) < least_row_bytes) return add({});
  add({true, worst_phase(normal, start.src)});
}

Demand Family::demand(const AmaxConfig& config, const Problem& normal, const Model& model,
                      const Costs& c) {
  const Launchable<Args> ready = prepare(config, normal);
  Demand demand = demand_of_launch(ready, c.block, model);
  demand.instructions = static_cast<double>(ready.args.pieces) *
                        ((config.vectors ? c.vector : c.element) + c.axis * ready.args.rank);
  demand.src_bytes =
      src_moved(model, {static_cast<double>(run_bytes(normal)), vector_bytes - config.phase});
  demand.dst_bytes = demand.blocks * sizeof(std::uint64_t);
  return demand;
}

std::string Family::describe(const AmaxConfig& config, const Problem& normal) {
  if (!config.vectors) return std::to_string(normal.src_type.size()) + " B at a time";
  return "rows of " + std::to_string(row_bytes(normal)) + " B, 16 B at a time";
}

Launchable<AmaxArgs> Family::prepare(const AmaxConfig& config, const Problem& normal) {
  AmaxArgs args;
  args.element_bytes = normal.src_type.size();
  args.rule = values::with_kind(normal.src_type.kind(),
                                []<class T>(values::Type<T>) { return values::magnitude_rule<T>; });
  args.swapped = normal.src_type.is_swapped();
  args.pieces = 1;
  int modes = normal.rank();
  if (config.vectors) {
    args.row_bytes = row_bytes(normal);
    args.pieces = ceil_div(config.phase + args.row_bytes, vector_bytes);
    args.row_vectors = FastDivide64(static_cast<std::uint64_t>(args.pieces));
    --modes;
  }
  for (int i = modes; i-- > 0;) {
    const Mode& mode = normal.modes[i];
    args.pieces *= mode.extent;
    args.axis[args.rank++] = {FastDivide64(static_cast<std::uint64_t>(mode.extent)),
                              mode.src_stride};
  }
  Launch launch;
  kernels::dispatch(args, [&]<class Kernel>() {
    const std::int64_t of_block = Kernel::threads * Kernel::of_thread;
    const auto blocks = std::min(ceil_div(args.pieces, of_block), std::int64_t{most_amax_blocks});
    launch = {{static_cast<unsigned>(blocks), 1, 1}, {Kernel::threads, 1, 1}, 0};
  });
  return {args, launch};
}

void Family::bind(AmaxArgs& args, const Problem& normal, const Buffers& buffers, int) {
  args.src = static_cast<const std::byte*>(buffers.src) + normal.src_offset;
  args.found = static_cast<std::uint64_t*>(buffers.dst);
}

}  // namespace cornerturn::plan::gpu::amax
