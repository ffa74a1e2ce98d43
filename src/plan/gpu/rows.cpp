#include "plan/gpu/rows.hpp"

#include <algorithm>
#include <numeric>

#include "plan/gpu/plan.hpp"
#include "plan/gpu/row_runs.hpp"

namespace cornerturn::plan::gpu {
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

}  // namespace

namespace rows {

const char* why_not(const Problem& normal, const DeviceInfo&) {
  const Rows rows(normal);
  if (rows.bytes < vector_bytes) return "the runs that both sides share are shorter than 16 B";
  if (rows.outer.empty()) return "all of it is one run";
  if (rows.count >= std::int64_t{1} << 31) return "2^31 rows or more";
  return nullptr;
}

void configure(const Problem& normal, const Alignment& start, const DeviceInfo&,
               const std::function<void(const RowsConfig&)>& add) {
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

Estimate estimate(const RowsConfig& config, const Problem& normal, const Model& model) {
  const Costs& c = model.costs;
  const Rows rows(normal);
  const Units units(config, rows);
  const bool long_rows = units.of_row >= units.of_block;
  const bool aligned = config.form == RowForm::aligned;
  double efficiency = config.in_flight == 1 ? 0.93 : 0.96;
  if (aligned) efficiency -= rows.bytes >= 256 ? 0.01 : rows.bytes >= 128 ? 0.03 : 0.16;
  Work work;
  work.blocks = static_cast<double>(units.blocks());
  work.resident = resident_blocks(model.device, kernels::rows_threads, 0,
                                  aligned && config.in_flight == 1 ? 8 : 4);
  double of_lane = c.rows_lane + (aligned ? 0 : c.rows_shifted);
  if (!long_rows) of_lane += c.rows_axis * rows.outer.size();
  work.instructions = work.blocks * kernels::rows_threads *
                      (c.rows_thread + static_cast<double>(config.in_flight) * of_lane);
  work.block_seconds = c.rows_block;
  work.src_bytes = model.least.src_bytes / efficiency;
  work.dst_bytes = model.least.dst_bytes / efficiency;
  return estimate_of(model, work);
}

std::string describe(const RowsConfig& config, const Problem&) {
  const char* form = config.form == RowForm::aligned ? "aligned vectors"
                     : config.form == RowForm::dense ? "shifted vectors"
                                                     : "rows one by one, shifted vectors";
  return std::string(form) + ", " + std::to_string(config.in_flight) + " a thread";
}

Prepared prepare(const RowsConfig& config, const Problem& normal) {
  const Rows rows(normal);
  const Units units(config, rows);
  kernels::RowsArgs args;
  args.row_bytes = rows.bytes;
  args.rows = rows.count;
  fill_reach(args, rows);
  args.length = FastDivide64(static_cast<std::uint64_t>(units.of_row));
  args.long_rows = units.of_row >= units.of_block;
  if (!args.long_rows) args.short_length = FastDivide(static_cast<std::uint32_t>(units.of_row));
  args.form = config.form;
  args.in_flight = config.in_flight;
  args.granule = static_cast<int>(rows.granule);
  args.walk.rank = rows.outer.size();
  for (int i = 0; i < rows.outer.size(); ++i) {
    const Mode& mode = rows.outer[rows.outer.size() - 1 - i];
    args.walk.axis[i] = {FastDivide(static_cast<std::uint32_t>(mode.extent)), mode.src_stride,
                         mode.dst_stride};
  }
  return {args, {{static_cast<unsigned>(units.blocks()), 1, 1}, {kernels::rows_threads, 1, 1}, 0}};
}

}  // namespace rows
}  // namespace cornerturn::plan::gpu
