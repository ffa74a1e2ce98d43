#include "plan/gpu/list_rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <numeric>

#include "core/divide.hpp"
#include "plan/gpu/convert.hpp"
#include "plan/gpu/listed.hpp"
#include "plan/gpu/sectors.hpp"

namespace cornerturn::plan::gpu::list_rows {
namespace {

constexpr std::int64_t most = std::int64_t{1} << 30;

// The rows of a step, in elements, or in vectors of those that change.
struct StepRows {
  explicit StepRows(const Problem& normal, bool vectors = false) : outer(normal.modes) {
    const std::int64_t src_size = normal.src_type.size(), dst_size = normal.dst_type.size();
    if (vectors) elements = 16 / std::max(src_size, dst_size);
    if (!outer.empty() && outer.back().src_stride == src_size &&
        outer.back().dst_stride == dst_size) {
      whole = outer.back().extent % elements == 0;
      length = outer.back().extent / elements;
      outer.pop_back();
    } else {
      whole = !vectors;
    }
    for (const Mode& mode : outer) count *= mode.extent;
    all = count * normal.lists->modes.front().extent;
    if (!vectors) return;
    const ListMode& list = normal.lists->modes.front();
    // Do all rows begin at vectors, if the first one does?
    const auto begin = [&](std::int64_t vector, std::int64_t Mode::*stride, const Steps& steps) {
      std::int64_t granule =
          steps.places == Places::pointers ? steps.alignment : std::gcd(steps.stride, vector);
      for (const Mode& mode : outer) granule = std::gcd(granule, mode.*stride);
      return granule % vector == 0;
    };
    whole = whole && begin(elements * src_size, &Mode::src_stride, list.src) &&
            begin(elements * dst_size, &Mode::dst_stride, list.dst);
  }

  // Are rows short, and those of other steps nearer on a side than those of the same step?
  bool steps_are_fast(const Problem& normal) const {
    constexpr std::int64_t long_row = 128;  // bytes
    const ListMode& list = normal.lists->modes.front();
    if (list.extent == 1 || length * elements * normal.dst_type.size() >= long_row) return false;
    const auto nearer = [&](const Steps& steps, std::int64_t Mode::*stride) {
      if (steps.from_table()) return false;
      return std::all_of(outer.begin(), outer.end(), [&](const Mode& mode) {
        return std::abs(steps.stride) < std::abs(mode.*stride);
      });
    };
    return nearer(list.src, &Mode::src_stride) || nearer(list.dst, &Mode::dst_stride);
  }

  std::int64_t elements = 1;  ///< of a vector
  bool whole = true;          ///< rows begin and end at whole vectors
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
  if (normal.converts()) {
    if (const char* rule = why_no_common_cast(normal)) return rule;
  }
  if (rows.length >= most) return "rows have 2^30 elements or more";
  if (rows.all >= most || blocks_of({.single = true}, rows) >= std::int64_t{1} << 31) {
    return "2^30 rows, or 2^31 blocks, or more";
  }
  return nullptr;
}

void Family::configure(const Problem& normal, const Alignment& start, const DeviceInfo&,
                       const Add<ListRowsConfig>& add) {
  if (normal.converts()) {
    const StepRows rows(normal, true);
    const bool aligned = start.src % (rows.elements * normal.src_type.size()) == 0 &&
                         start.dst % (rows.elements * normal.dst_type.size()) == 0;
    if (rows.whole && aligned) add({.vectors = true});
    return add({});
  }
  for (const bool single : {false, true}) add({single});
}

Demand Family::demand(const ListRowsConfig& config, const Problem& normal, const Model& model,
                      const Costs& c) {
  const StepRows rows(normal, config.vectors);
  const Traffic traffic = least_traffic(in_order(normal));
  Demand demand;
  demand.blocks = static_cast<double>(blocks_of(config, rows));
  demand.resident = resident_blocks(model.device, kernels::rows_threads, 0, config.vectors ? 6 : 8);
  const double change = normal.converts()
                            ? static_cast<double>(rows.elements) * convert_lane(normal, model.costs)
                            : 0.0;
  const double of_lane = c.lane + change + c.axis * rows.outer.size();
  demand.instructions =
      demand.blocks * kernels::rows_threads * (c.thread + of_thread(config) * of_lane);
  demand.block_seconds = model.costs.rows_block;
  demand.src_bytes = std::max(traffic.src_bytes, traffic.src_sparse);
  demand.dst_bytes = traffic.dst_bytes;
  return demand;
}

std::string Family::describe(const ListRowsConfig& config, const Problem& normal) {
  const StepRows rows(normal, config.vectors);
  if (normal.converts()) {
    return fmt::format("rows of {} x {} to {}, {} at a time", rows.length * rows.elements,
                       normal.src_type.name(), normal.dst_type.name(), rows.elements);
  }
  return fmt::format("rows of {} x {} B, {} a thread{}", rows.length, normal.dst_type.size(),
                     of_thread(config),
                     rows.steps_are_fast(normal) ? ", those of all steps next to each other" : "");
}

Launchable<kernels::ListRowsArgs> Family::prepare(const ListRowsConfig& config,
                                                  const Problem& normal) {
  const StepRows rows(normal, config.vectors);
  kernels::ListRowsArgs args;
  args.rows = rows.all;
  args.length = FastDivide64(static_cast<std::uint64_t>(rows.length));
  args.short_length = FastDivide(static_cast<std::uint32_t>(rows.length));
  args.steps_are_fast = rows.steps_are_fast(normal);
  args.fast = FastDivide(static_cast<std::uint32_t>(
      args.steps_are_fast ? normal.lists->modes.front().extent : rows.count));
  args.element_bytes = normal.dst_type.size();
  args.values = value_args(normal);
  args.vectors = config.vectors;
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
