#include "plan/gpu/convert.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

#include "kernels/casts.hpp"
#include "plan/gpu/plan.hpp"

namespace cornerturn::plan::gpu {

const char* why_not_by_value(const Problem& normal) {
  if (normal.values.beta != 0) return "the destination's old values count";
  if (normal.scale.present || normal.bias.present) return "a vector of scales or biases";
  if (normal.values.rounding == Rounding::stochastic) return "stochastic rounding";
  return nullptr;
}

const char* why_no_cast(const Problem& normal) {
  const Kind from = normal.src_type.kind(), to = normal.dst_type.kind();
  const auto known = []<class Change>() {};
  if (normal.values.beta != 0) return "the destination's old values count";
  if (normal.values.rounding == Rounding::stochastic) return "stochastic rounding";
  const bool vectors = normal.scale.present || normal.bias.present;
  // A product by 1 changes a NaN at most, which i8 has not.
  const bool arithmetic =
      vectors || !(normal.values.alpha == 1) || from == Kind::i8 || to == Kind::i8;
  if (!vectors && kernels::with_cast(from, to, known)) return nullptr;
  if (arithmetic && kernels::with_scaled_cast(from, to, known)) return nullptr;
  return vectors ? "a vector of scales or biases"
                 : "no kernel was compiled for just these two types";
}

const char* why_no_common_cast(const Problem& normal) {
  if (const char* rule = why_not_by_value(normal)) return rule;
  const bool has_kernel = kernels::with_common_cast(normal.src_type.kind(), normal.dst_type.kind(),
                                                    []<class Change>() {});
  return has_kernel ? nullptr : "no kernel was compiled for just these two types";
}

const char* why_misplaced(const Problem& normal) {
  const auto misplaced = [&](std::int64_t offset, std::int64_t Mode::*stride, int size) {
    const int place = std::min(size, 16);
    return offset % place != 0 ||
           std::any_of(normal.modes.begin(), normal.modes.end(),
                       [&](const Mode& m) { return m.*stride % place != 0; });
  };
  if (misplaced(normal.src_offset, &Mode::src_stride, normal.src_type.size()) ||
      misplaced(normal.dst_offset, &Mode::dst_stride, normal.dst_type.size())) {
    return "values that are converted must lie at multiples of their size";
  }
  return nullptr;
}

kernels::ValueArgs value_args(const Problem& normal) {
  const Values& v = normal.values;
  kernels::ValueArgs args;
  args.src_kind = normal.src_type.kind();
  args.dst_kind = normal.dst_type.kind();
  args.alpha = static_cast<float>(v.alpha);
  args.wide_alpha = v.alpha;
  args.arithmetic = !(v.alpha == 1);
  args.conjugate = v.conjugate;
  args.overflow = v.overflow;
  // E4M3 and E5M2: instructions saturate, so what is beyond must not have become infinite or NaN;
  // the others: instructions don't, so it must not have to saturate.
  const bool saturates = v.overflow == Overflow::saturate;
  constexpr float all = std::numeric_limits<float>::infinity();
  switch (args.dst_kind) {
    case Kind::f16:
      args.limit = saturates ? 65504.0F : all;
      break;
    case Kind::bf16:
      args.limit = saturates ? 3.38953139e38F : all;
      break;
    case Kind::f8_e4m3:
      args.limit = saturates ? all : 464.0F;
      break;
    case Kind::f8_e5m2:
      args.limit = saturates ? all : 61439.0F;
      break;
    default:
      break;
  }
  return args;
}

double convert_lane(const Problem& normal) {
  const double of_vectors = normal.scale.present || normal.bias.present ? 5 : 0;
  return of_vectors + (normal.dst_type.size() < normal.src_type.size() ? 6 : 3);
}

kernels::GroupVector group_vector(const ModeVector& vector, const Problem& normal, const Run& rows,
                                  const Run& columns, const Run& rest) {
  kernels::GroupVector to;
  to.present = vector.present;
  to.step = vector.step;
  to.first = vector.first;
  const auto look = [&](kernels::Along along, const Run& group) {
    std::int64_t below = 1;
    for (int i = 0; i < group.size; ++i) {
      const std::int64_t extent = normal.modes[group[i]].extent;
      if (group[i] == vector.mode) {
        to.along = along;
        to.below = FastDivide(static_cast<std::uint32_t>(below));
        to.extent = FastDivide(static_cast<std::uint32_t>(extent));
      }
      below *= extent;
    }
  };
  look(kernels::Along::rows, rows);
  look(kernels::Along::columns, columns);
  look(kernels::Along::rest, rest);
  return to;
}

double gather_convert_lane(const Problem& normal, const Costs& costs) {
  const Kind from = normal.src_type.kind(), to = normal.dst_type.kind();
  const auto known = []<class Change>() {};
  const bool is_known =
      kernels::with_cast(from, to, known) || kernels::with_scaled_cast(from, to, known);
  return is_known ? costs.gather_known : costs.any_value;
}

namespace rows_convert {
namespace {

// The rows that both sides share, in vectors of 16 bytes of the larger type.
struct Rows {
  explicit Rows(const Problem& normal)
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

  int elements;              // of a vector
  std::int64_t vectors = 0;  // of a row; 0: both sides do not run along the same mode
  bool whole = false;        // all rows begin and end at whole vectors
  std::int64_t count = 1;
  ModeList outer;
};

constexpr std::int64_t of_block = kernels::rows_threads * 4L;  // vectors

std::int64_t blocks_of(const Rows& rows) {
  return (rows.vectors * rows.count + of_block - 1) / of_block;
}

}  // namespace

const char* why_not(const Problem& normal, const DeviceInfo&) {
  if (const char* rule = why_no_cast(normal)) return rule;
  const Rows rows(normal);
  if (rows.vectors == 0) return "the sides do not share their fastest mode";
  if (!rows.whole) return "rows are no whole vectors";
  if (rows.count >= std::int64_t{1} << 31 || blocks_of(rows) >= std::int64_t{1} << 31) {
    return "2^31 rows or blocks, or more";
  }
  if (rows.vectors * rows.elements >= std::int64_t{1} << 31) {
    if (normal.scale.present || normal.bias.present) return "vectors for 2^31 elements or more";
  }
  return nullptr;
}

void configure(const Problem& normal, const Alignment& start, const DeviceInfo&,
               const std::function<void(const RowsConvertConfig&)>& add) {
  const Rows rows(normal);
  const bool aligned = start.src % (rows.elements * normal.src_type.size()) == 0 &&
                       start.dst % (rows.elements * normal.dst_type.size()) == 0;
  if (aligned) add({});
}

Estimate estimate(const RowsConvertConfig&, const Problem& normal, const Model& model) {
  const Costs& c = model.costs;
  const Rows rows(normal);
  Work work;
  work.blocks = static_cast<double>(blocks_of(rows));
  work.resident = resident_blocks(model.device, kernels::rows_threads, 0, 4);
  const bool long_rows = rows.vectors >= of_block;
  const double of_lane = c.rows_lane + rows.elements * convert_lane(normal) +
                         (long_rows ? 0 : c.rows_axis * rows.outer.size());
  work.instructions = work.blocks * kernels::rows_threads * (c.rows_thread + 4 * of_lane);
  work.block_seconds = c.rows_block;
  const auto efficiency = [&](std::int64_t bytes) {
    return bytes >= 256 ? 0.96 : bytes >= 128 ? 0.93 : 0.8;
  };
  const std::int64_t elements = rows.vectors * rows.elements;
  work.src_bytes = model.least.src_bytes / efficiency(elements * normal.src_type.size());
  work.dst_bytes = model.least.dst_bytes / efficiency(elements * normal.dst_type.size());
  return estimate_of(model, work);
}

std::string describe(const RowsConvertConfig&, const Problem& normal) {
  return normal.src_type.name() + " to " + normal.dst_type.name() + ", " +
         std::to_string(Rows(normal).elements) + " at a time";
}

Prepared prepare(const RowsConvertConfig&, const Problem& normal) {
  const Rows rows(normal);
  kernels::RowsConvertArgs args;
  args.values = value_args(normal);
  const Run run{.size = 1, .mode = {static_cast<std::uint8_t>(normal.rank() - 1)}};
  Run outer{.size = rows.outer.size()};
  for (int i = 0; i < outer.size; ++i) {
    outer.mode[static_cast<std::size_t>(i)] = static_cast<std::uint8_t>(outer.size - 1 - i);
  }
  args.scale = group_vector(normal.scale, normal, outer, run, {});
  args.bias = group_vector(normal.bias, normal, outer, run, {});
  args.rows = rows.count;
  args.length = FastDivide64(static_cast<std::uint64_t>(rows.vectors));
  args.long_rows = rows.vectors >= of_block;
  if (!args.long_rows) args.short_length = FastDivide(static_cast<std::uint32_t>(rows.vectors));
  args.walk.rank = rows.outer.size();
  for (int i = 0; i < rows.outer.size(); ++i) {
    const Mode& mode = rows.outer[rows.outer.size() - 1 - i];
    args.walk.axis[i] = {FastDivide(static_cast<std::uint32_t>(mode.extent)), mode.src_stride,
                         mode.dst_stride};
  }
  return {args, {{static_cast<unsigned>(blocks_of(rows)), 1, 1}, {kernels::rows_threads, 1, 1}, 0}};
}

}  // namespace rows_convert

namespace gather_convert {

const char* why_not(const Problem& normal, const DeviceInfo& device) {
  if (const char* rule = why_misplaced(normal)) return rule;
  return gather::why_not(normal, device);
}

void configure(const Problem&, const Alignment&, const DeviceInfo&,
               const std::function<void(const GatherConvertConfig&)>& add) {
  add({});
}

Estimate estimate(const GatherConvertConfig&, const Problem& normal, const Model& model) {
  return gather::estimate({}, normal, model);
}

std::string describe(const GatherConvertConfig&, const Problem& normal) {
  return normal.src_type.name() + " to " + normal.dst_type.name() + " in destination order";
}

Prepared prepare(const GatherConvertConfig&, const Problem& normal) {
  const Prepared moved = gather::prepare({}, normal);
  kernels::GatherConvertArgs args;
  static_cast<kernels::GatherArgs&>(args) = std::get<kernels::GatherArgs>(moved.args);
  args.src_bytes = normal.src_type.size();
  args.change = {.src_kind = normal.src_type.kind(),
                 .dst_kind = normal.dst_type.kind(),
                 .values = normal.values,
                 .scaled = normal.scale.present,
                 .biased = normal.bias.present};
  const auto fill = [&](kernels::AxisVector& to, const ModeVector& from) {
    to.present = from.present;
    if (from.mode >= 0)
      to.axis = normal.rank() - 1 - from.mode;  // the axes are the modes, reversed
    to.step = from.step;
    to.first = from.first;
  };
  fill(args.scale, normal.scale);
  fill(args.bias, normal.bias);
  return {args, moved.launch};
}

}  // namespace gather_convert

Plan with_factor(const Plan& plan, double factor, float addend) {
  Plan result = plan;
  std::visit(
      [&](auto& args) {
        if constexpr (requires { args.values.wide_alpha; }) {
          args.values.alpha = static_cast<float>(factor);
          args.values.wide_alpha = factor;
          args.values.addend = addend;
        } else if constexpr (requires { args.change; }) {
          args.change.values.alpha = factor;
          args.change.arithmetic = true;
          args.change.addend = addend;
        }
      },
      result.ready.args);
  return result;
}

}  // namespace cornerturn::plan::gpu
