#include "plan/gpu/rows.hpp"

#include <algorithm>
#include <numeric>

#include "plan/gpu/convert.hpp"
#include "plan/gpu/row_runs.hpp"

namespace cornerturn::plan::gpu::rows {
namespace {

using kernels::RowForm;

constexpr std::int64_t vector_bytes = 16;

// How the kernel counts: so many units a row, so many a block.
struct Units {
  Units(const RowsConfig& config, const Rows& rows)
      : of_block(std::int64_t{kernels::rows_threads} * config.in_flight) {
    switch (config.form) {
      case RowForm::aligned:
        of_row = rows.bytes / vector_bytes;
        all = of_row * rows.count;
        break;
      case RowForm::dense:
        of_row = rows.bytes;
        of_block *= vector_bytes;
        all = of_row * rows.count + (vector_bytes - config.dst_granule);
        break;
      case RowForm::gapped:
        of_row =
            (rows.bytes + (vector_bytes - config.dst_granule) + vector_bytes - 1) / vector_bytes;
        all = of_row * rows.count;
        break;
    }
  }

  std::int64_t blocks() const { return (all + of_block - 1) / of_block; }

  std::int64_t of_row = 0;
  std::int64_t of_block = 0;
  std::int64_t all = 0;
};

std::int64_t dst_granule(const Rows& rows, const Alignment& start) {
  std::int64_t granule = std::gcd(start.dst, vector_bytes);
  for (const Mode& mode : rows.outer) granule = std::gcd(granule, mode.dst_stride);
  return granule;
}

// The rows of a problem whose values change, in vectors of 16 bytes of the larger type.
struct ChangingRows {
  explicit ChangingRows(const Problem& normal)
      : elements(16 / std::max(normal.src_type.size(), normal.dst_type.size())),
        outer(normal.modes) {
    if (outer.empty()) return;
    const Mode& run = outer.back();
    if (run.src_stride != normal.src_type.size() || run.dst_stride != normal.dst_type.size()) {
      return;
    }
    vectors = run.extent / elements;
    whole = run.extent % elements == 0;
    outer.pop_back();
    for (const Mode& mode : outer) count *= mode.extent;
    const std::int64_t src_vector = elements * normal.src_type.size();
    const std::int64_t dst_vector = elements * normal.dst_type.size();
    for (const Mode& mode : outer) {
      whole = whole && mode.src_stride % src_vector == 0 && mode.dst_stride % dst_vector == 0;
    }
  }

  static constexpr std::int64_t of_block = kernels::rows_threads * 4L;  // vectors
  std::int64_t blocks() const { return (vectors * count + of_block - 1) / of_block; }
  bool are_long() const { return vectors >= of_block; }

  int elements;              // of a vector
  std::int64_t vectors = 0;  // of a row; 0: both sides do not run along the same mode
  bool whole = false;        // all rows begin and end at whole vectors
  std::int64_t count = 1;
  ModeList outer;
};

const char* why_not_changing(const Problem& normal) {
  if (const char* rule = why_no_cast(normal)) return rule;
  const ChangingRows rows(normal);
  if (rows.vectors == 0) return "the sides do not share their fastest mode";
  if (!rows.whole) return "rows are no whole vectors";
  if (rows.count >= std::int64_t{1} << 31 || rows.blocks() >= std::int64_t{1} << 31) {
    return "2^31 rows or blocks, or more";
  }
  if (rows.vectors * rows.elements >= std::int64_t{1} << 31) {
    if (normal.scale.present || normal.bias.present) return "vectors for 2^31 elements or more";
  }
  return nullptr;
}

Demand demand_changing(const Problem& normal, const Model& model, const Family::Costs& c) {
  const ChangingRows rows(normal);
  Demand demand;
  demand.blocks = static_cast<double>(rows.blocks());
  demand.resident = resident_blocks(model.device, kernels::rows_threads, 0, 4);
  const double of_lane = c.lane + rows.elements * convert_lane(normal, model.costs) +
                         (rows.are_long() ? 0.0 : c.axis * rows.outer.size());
  demand.instructions = demand.blocks * kernels::rows_threads * (c.thread + 4 * of_lane);
  demand.block_seconds = model.costs.rows_block;
  const auto share = [&](std::int64_t bytes) -> double {
    return bytes >= 128 ? c.change_128 : c.change_short;
  };
  const std::int64_t elements = rows.vectors * rows.elements;
  demand.src_bytes = model.src_read() / share(elements * normal.src_type.size());
  demand.dst_bytes = model.least.dst_bytes / share(elements * normal.dst_type.size());
  return demand;
}

// What a row's length in units, and the modes beside it, say; both are of one problem.
void set_rows(kernels::RowsArgs& args, std::int64_t count, std::int64_t length, bool are_long,
              const ModeList& outer) {
  args.rows = count;
  args.length = FastDivide64(static_cast<std::uint64_t>(length));
  args.long_rows = are_long;
  if (!are_long) args.short_length = FastDivide(static_cast<std::uint32_t>(length));
  kernels::WalkMaker<kernels::Walk> maker;
  for (int i = outer.size(); i-- > 0;) {
    maker.add(outer[i].extent, outer[i].src_stride, outer[i].dst_stride);
  }
  args.walk = maker.walk;
}

Launchable<kernels::RowsArgs> launch_of(const kernels::RowsArgs& args, std::int64_t blocks) {
  return {args, {{static_cast<unsigned>(blocks), 1, 1}, {kernels::rows_threads, 1, 1}, 0}};
}

Launchable<kernels::RowsArgs> prepare_changing(const Problem& normal) {
  const ChangingRows rows(normal);
  kernels::RowsArgs args;
  args.values = value_args(normal);
  const Run run{.size = 1, .mode = {static_cast<std::uint8_t>(normal.rank() - 1)}};
  Run outer{.size = rows.outer.size()};
  for (int i = 0; i < outer.size; ++i) {
    outer.mode[static_cast<std::size_t>(i)] = static_cast<std::uint8_t>(outer.size - 1 - i);
  }
  args.scale = group_vector(normal.scale, normal, outer, run, {});
  args.bias = group_vector(normal.bias, normal, outer, run, {});
  set_rows(args, rows.count, rows.vectors, rows.are_long(), rows.outer);
  return launch_of(args, rows.blocks());
}

}  // namespace

const char* Family::why_not(const Problem& normal, const DeviceInfo&) {
  if (normal.converts()) return why_not_changing(normal);
  const Rows rows(normal);
  if (rows.bytes < vector_bytes) return "the runs that both sides share are shorter than 16 B";
  if (rows.outer.empty()) return "all of it is one run";
  if (rows.count >= std::int64_t{1} << 31) return "2^31 rows or more";
  return nullptr;
}

void Family::configure(const Problem& normal, const Alignment& start, const DeviceInfo&,
                       const Add<RowsConfig>& add) {
  if (normal.converts()) {
    const int elements = ChangingRows(normal).elements;
    const bool aligned = start.src % (elements * normal.src_type.size()) == 0 &&
                         start.dst % (elements * normal.dst_type.size()) == 0;
    if (aligned) add({});
    return;
  }
  const Rows rows(normal);
  RowsConfig config;
  config.dst_granule = static_cast<int>(dst_granule(rows, start));
  if (rows.granule == vector_bytes) {
    config.form = RowForm::aligned;
    for (const int in_flight : {4, 1}) {
      config.in_flight = in_flight;
      add(config);
    }
    return;
  }
  config.form = rows.dense() ? RowForm::dense : RowForm::gapped;
  for (const int in_flight : {3, 1}) {
    config.in_flight = in_flight;
    add(config);
  }
}

Demand Family::demand(const RowsConfig& config, const Problem& normal, const Model& model,
                      const Costs& c) {
  if (normal.converts()) return demand_changing(normal, model, c);
  const Rows rows(normal);
  const Units units(config, rows);
  const bool long_rows = units.of_row >= units.of_block;
  const bool aligned = config.form == RowForm::aligned;
  double share = 1;
  if (aligned && rows.bytes < 128) share -= c.loss_short;
  Demand demand;
  demand.blocks = static_cast<double>(units.blocks());
  demand.resident = resident_blocks(model.device, kernels::rows_threads, 0,
                                    aligned && config.in_flight == 1 ? 8 : 4);
  double of_lane = c.lane;
  if (!aligned) of_lane += c.shifted;
  if (!aligned && rows.granule < 4) of_lane += warps_with_ends(rows) * c.end_part;
  if (!long_rows) of_lane += c.axis * rows.outer.size();
  demand.instructions = demand.blocks * kernels::rows_threads *
                        (c.thread + static_cast<double>(config.in_flight) * of_lane);
  demand.block_seconds = model.costs.rows_block;
  demand.src_bytes = model.src_read() / share;
  demand.dst_bytes = (model.least.dst_bytes + model.cut_bytes()) / share;
  return demand;
}

std::string Family::describe(const RowsConfig& config, const Problem& normal) {
  if (normal.converts()) {
    return normal.src_type.name() + " to " + normal.dst_type.name() + ", " +
           std::to_string(ChangingRows(normal).elements) + " at a time";
  }
  const char* form = config.form == RowForm::aligned ? "aligned vectors"
                     : config.form == RowForm::dense ? "shifted vectors"
                                                     : "rows one by one, shifted vectors";
  return std::string(form) + ", " + std::to_string(config.in_flight) + " a thread";
}

Launchable<kernels::RowsArgs> Family::prepare(const RowsConfig& config, const Problem& normal) {
  if (normal.converts()) return prepare_changing(normal);
  const Rows rows(normal);
  const Units units(config, rows);
  kernels::RowsArgs args;
  args.row_bytes = rows.bytes;
  fill_reach(args, rows);
  set_rows(args, rows.count, units.of_row, units.of_row >= units.of_block, rows.outer);
  args.form = config.form;
  args.in_flight = config.in_flight;
  args.granule = static_cast<int>(rows.granule);
  return launch_of(args, units.blocks());
}

}  // namespace cornerturn::plan::gpu::rows
