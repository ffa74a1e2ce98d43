#include "plan/gpu/convert.hpp"

#include <algorithm>
#include <limits>

#include "kernels/casts.hpp"

namespace cornerturn::plan::gpu {

const char* why_not_by_value(const Problem& normal) {
  if (normal.values.beta != 0) return "the destination's old values count";
  if (normal.scale.present || normal.bias.present) return "a vector of scales or biases";
  if (normal.values.rounding == Rounding::stochastic) return "stochastic rounding";
  return nullptr;
}

const char* why_no_cast(const Problem& normal) {
  const ValueType from = value_type(normal.src_type), to = value_type(normal.dst_type);
  const auto known = []<class Change>() {};
  if (normal.values.beta != 0) return "the destination's old values count";
  if (normal.values.rounding == Rounding::stochastic) return "stochastic rounding";
  const bool vectors = normal.scale.present || normal.bias.present;
  // A product by 1 changes a NaN at most, which i8 has not.
  const bool arithmetic =
      vectors || !(normal.values.alpha == 1) || from.kind == Kind::i8 || to.kind == Kind::i8;
  if (!vectors && kernels::with_cast(from, to, known)) return nullptr;
  if (arithmetic && kernels::with_scaled_cast(from, to, known)) return nullptr;
  return vectors ? "a vector of scales or biases"
                 : "no kernel was compiled for just these two types";
}

const char* why_no_common_cast(const Problem& normal) {
  if (const char* rule = why_not_by_value(normal)) return rule;
  const bool has_kernel = kernels::with_common_cast(
      value_type(normal.src_type), value_type(normal.dst_type), []<class Change>() {});
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
  if (!normal.converts()) return {};
  const Values& v = normal.values;
  kernels::ValueArgs args;
  args.converts = true;
  args.src = value_type(normal.src_type);
  args.dst = value_type(normal.dst_type);
  args.alpha = static_cast<float>(v.alpha);
  args.wide_alpha = v.alpha;
  args.arithmetic = !(v.alpha == 1);
  args.conjugate = v.conjugate;
  args.overflow = v.overflow;
  // E4M3 and E5M2: instructions saturate, so what is beyond must not have become infinite or NaN;
  // the others: instructions don't, so it must not have to saturate.
  const bool saturates = v.overflow == Overflow::saturate;
  constexpr float all = std::numeric_limits<float>::infinity();
  switch (args.dst.kind) {
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

double convert_lane(const Problem& normal, const SharedCosts& c) {
  const double of_vectors = normal.scale.present || normal.bias.present ? c.change_vectors : 0.0;
  return of_vectors +
         (normal.dst_type.size() < normal.src_type.size() ? c.change_narrow : c.change_wide);
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

}  // namespace cornerturn::plan::gpu
