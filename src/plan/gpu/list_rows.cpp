#include "plan/gpu/list_rows.hpp"

#include <fmt/format.h>

#include "core/divide.hpp"
#include "plan/gpu/listed.hpp"
#include "plan/gpu/sectors.hpp"

namespace cornerturn::plan::gpu::list_rows {
namespace {

constexpr std::int64_t most = std::int64_t{1} << 30;

// The rows of a step, in elements.
struct StepRows {
  explicit StepRows(const Problem& normal) : outer(normal.modes) {
    const std::int64_t size = normal.dst_type.size();
    if (!outer.empty() && outer.back().src_stride == size && outer.back().dst_stride == size) {
      length = outer.back().extent;
      outer.pop_back();
    }
    for (const Mode& mode : outer) count *= mode.extent;
    all = count * normal.lists->modes.front().extent;
  }

  std::int64_t length = 1;
  std::int64_t count = 1;
  std::int64_t all = 0;
  ModeList outer;
};

int of_thread(const ListRowsConfig& config) {
  return config.single ? 1 : kernels::list_rows_at_once;
}

std::int64_t blocks_of(const ListRowsConfig& config, const StepRows& rows) {
  return ceil_div(rows.all * rows.length, std::int64_t{kernels::rows_threads} * of_thread(config));
}

}  // namespace

const char* Family::why_not(const Problem& normal, const DeviceInfo&) {
  if (const char* rule = why_no_list(normal)) return rule;
  const StepRows rows(normal);
  if (rows.length >= most) return "rows have 2^30 elements or more";
  if (rows.all >= most || blocks_of({.single = true}, rows) >= std::int64_t{1} << 31) {
    return "2^30 rows, or 2^31 blocks, or more";
  }
  return nullptr;
}

void Family::configure(const Problem&, const Alignment&, const DeviceInfo&,
                       const Add<ListRowsConfig>& add) {
  for (const bool single : {false, true}) add({single});
}

Demand Family::demand(const ListRowsConfig& config, const Problem& normal, const Model& model,
                      const Costs& c) {
  const StepRows rows(normal);
  const Traffic traffic = least_traffic(in_order(normal));
  Demand demand;
  demand.blocks = static_cast<double>(blocks_of(config, rows));
  demand.resident = resident_blocks(model.device, kernels::rows_threads, 0, 8);
  const double of_lane = c.lane + c.axis * rows.outer.size();
  demand.instructions =
      demand.blocks * kernels::rows_threads * (c.thread + of_thread(config) * of_lane);
  demand.block_seconds = model.costs.rows_block;
  demand.src_bytes = std::max(traffic.src_bytes, traffic.src_sparse);
  demand.dst_bytes = traffic.dst_bytes;
  return demand;
}

std::string Family::describe(const ListRowsConfig& config, const Problem& normal) {
  const StepRows rows(normal);
  return fmt::format("rows of {} x {} B, {} a thread", rows.length, normal.dst_type.size(),
                     of_thread(config));
}

Launchable<kernels::ListRowsArgs> Family::prepare(const ListRowsConfig& config,
                                                  const Problem& normal) {
  const StepRows rows(normal);
  kernels::ListRowsArgs args;
  args.rows = rows.all;
  args.length = FastDivide64(static_cast<std::uint64_t>(rows.length));
  args.short_length = FastDivide(static_cast<std::uint32_t>(rows.length));
  args.rows_a_step = FastDivide(static_cast<std::uint32_t>(rows.count));
  args.element_bytes = normal.dst_type.size();
  args.single = config.single;
  args.leaves_missing = normal.lists->missing == Missing::left;
  args.from = from_of(normal);
  args.to = to_of(normal);
  kernels::WalkMaker<kernels::Walk> maker;
  for (int i = rows.outer.size(); i-- > 0;) {
    maker.add(rows.outer[i].extent, rows.outer[i].src_stride, rows.outer[i].dst_stride);
  }
  args.walk = maker.walk;
  const auto blocks = static_cast<unsigned>(blocks_of(config, rows));
  return {args, {{blocks, 1, 1}, {kernels::rows_threads, 1, 1}, 0}};
}

void Family::bind(Args& args, const Problem& normal, const Buffers& buffers, int) {
  bind_list(args, args, normal, buffers);
}

}  // namespace cornerturn::plan::gpu::list_rows
