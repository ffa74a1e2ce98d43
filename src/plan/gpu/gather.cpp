#include "plan/gpu/gather.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "core/divide.hpp"
#include "plan/gpu/plan.hpp"
#include "plan/gpu/row_runs.hpp"

namespace cornerturn::plan::gpu::gather {

namespace {
constexpr std::int64_t least_four = 1 << 15;  // elements: fewer leave SMs without work
constexpr std::int64_t most_single = 1 << 20;
constexpr int threads = 256;

// Elements: those of kernels::Gather.
std::int64_t of_block(const GatherConfig& config) {
  return config.single ? threads : 4 * threads;
}

// Of the source, that a warp touches which takes 32 elements one after the other.
int sectors_of_warp(const Problem& normal) {
  std::array<std::int64_t, 32> seen{};
  int count = 0;
  for (int lane = 0; lane < 32; ++lane) {
    std::int64_t offset = 0;
    std::int64_t n = lane;
    for (int i = normal.rank(); i-- > 0 && n > 0;) {
      const Mode& mode = normal.modes[i];
      offset += n % mode.extent * mode.src_stride;
      n /= mode.extent;
    }
    const std::int64_t sector = offset >> 5;
    const auto end = seen.begin() + count;
    if (std::find(seen.begin(), end, sector) == end)
      seen[static_cast<std::size_t>(count++)] = sector;
  }
  return count;
}

}  // namespace

const char* why_not(const Problem& normal, const DeviceInfo&) {
  if (normal.rank() > kernels::max_axes) return "more modes than any memory has elements for";
  return nullptr;
}

void configure(const Problem& normal, const Alignment&, const DeviceInfo&,
               const std::function<void(const GatherConfig&)>& add) {
  const std::int64_t elements = normal.elements();
  if (elements == 0 || elements > least_four) add({});
  if (elements > 0 && elements <= most_single) add({true});
}

Estimate estimate(const GatherConfig& config, const Problem& normal, const Model& model) {
  if (normal.elements() == 0) return {};
  const Costs& c = model.costs;
  const auto elements = static_cast<double>(normal.elements());
  Work work;
  work.blocks = std::ceil(elements / static_cast<double>(of_block(config)));
  work.resident = resident_blocks(model.device, threads, 0, 4);
  work.instructions = elements * (c.gather_lane + c.gather_axis * normal.rank() +
                                  (normal.converts() ? gather_convert_lane(normal, c) : 0));
  const Rows rows(normal);
  const auto run = static_cast<double>(rows.bytes);
  if (rows.granule == 16 && rows.bytes > rows.granule) {
    const double efficiency = run >= 256 ? 0.965 : run >= 128 ? 0.91 : run >= 64 ? 0.84 : 0.75;
    work.block_seconds = config.single ? c.gather_single : c.rows_block;
    work.src_bytes = model.least.src_bytes / efficiency;
    work.dst_bytes = model.least.dst_bytes / efficiency;
    return estimate_of(model, work);
  }
  // Lanes far apart take a sector each.
  work.wavefronts =
      elements / 32 *
      (sectors_of_warp(normal) * c.gather_sector + static_cast<double>(normal.dst_type.size()));
  work.block_seconds = config.single ? c.gather_single : c.gather_block;
  work.src_bytes = src_moved(model, {run, granule_of(rows, &Mode::src_stride)}) *
                   (1 + fetched_again(rows, model, run));
  work.dst_bytes = dst_moved(model, {std::max(run, 512.0), 32});
  return estimate_of(model, work);
}

std::string describe(const GatherConfig& config, const Problem& normal) {
  return std::to_string(normal.dst_type.size()) + " B at a time in destination order" +
         (config.single ? ", one a thread" : "");
}

Prepared prepare(const GatherConfig& config, const Problem& normal) {
  kernels::GatherArgs args;
  args.elements = normal.elements();
  args.element_bytes = normal.dst_type.size();
  args.single = config.single;
  args.mode.rank = normal.rank();
  for (int i = 0; i < normal.rank(); ++i) {
    const Mode& mode = normal.modes[normal.rank() - 1 - i];
    const auto extent = static_cast<std::uint64_t>(std::max<std::int64_t>(mode.extent, 1));
    args.wide[i] = FastDivide64(extent);
    kernels::Axis& axis = args.mode.axis[i];
    if (extent < (1U << 31)) axis.count = FastDivide(static_cast<std::uint32_t>(extent));
    axis.src_step = mode.src_stride;
    axis.dst_step = mode.dst_stride;
  }
  const std::int64_t blocks = std::min<std::int64_t>(ceil_div(args.elements, of_block(config)),
                                                     (std::int64_t{1} << 31) - 1);
  return {args, {{static_cast<unsigned>(blocks), 1, 1}, {threads, 1, 1}, 0}};
}

}  // namespace cornerturn::plan::gpu::gather
