#include "core/problem.hpp"

#include <fmt/format.h>

namespace cornerturn {

const char* name_of(Operation operation) {
  switch (operation) {
    case Operation::convert:
      return "convert";
    case Operation::quantise:
      return "quantise";
    case Operation::dequantise:
      return "dequantise";
    case Operation::reduce:
      return "reduce";
    case Operation::in_place:
      return "in place";
    case Operation::move:
      break;
  }
  return "move";
}

Operation Problem::operation() const noexcept {
  if (blocks != nullptr) return blocks->back ? Operation::dequantise : Operation::quantise;
  if (reduces) return Operation::reduce;
  if (in_place) return Operation::in_place;
  return converts() ? Operation::convert : Operation::move;
}

bool Problem::is_local() const noexcept {
  if (lists != nullptr) return false;
  const Operation what = operation();
  return what == Operation::move || (what == Operation::convert && !scale.present &&
                                     !bias.present && values.rounding != Rounding::stochastic);
}

std::int64_t Problem::elements() const noexcept {
  // Unsigned: an extent of 0 may follow some whose product overflows.
  std::uint64_t product = 1;
  for (const Mode& mode : modes) product *= static_cast<std::uint64_t>(mode.extent);
  if (lists != nullptr) product *= static_cast<std::uint64_t>(lists->steps());
  return static_cast<std::int64_t>(product);
}

std::int64_t Problem::bytes() const noexcept {
  if (reduces) return elements() * src_type.size();
  if (operation() != Operation::quantise) return elements() * dst_type.size();
  const BlockRow& row = blocks->row();
  const auto count = [](std::int64_t length, int of_block) {
    return (length + of_block - 1) / of_block;
  };
  const auto extent_of = [&](int mode) {  // the list's mode follows all others
    return mode < rank() ? modes[mode].extent : lists->modes.front().extent;
  };
  const auto bytes_along = [&](const BlockLayout& layout) {
    const std::int64_t length = extent_of(layout.axis);
    const std::int64_t lines = row.across == 1 ? 1 : extent_of(layout.across);
    if (length == 0 || lines == 0) return std::int64_t{0};
    const std::int64_t together =
        elements() / length / lines * count(length, row.along) * count(lines, row.across);
    const int units = row.along * row.across / row.values_per_unit();
    return together * (units * row.unit_bytes() + row.scale_bytes());
  };
  return bytes_along(blocks->first) + (blocks->second ? bytes_along(*blocks->second) : 0);
}

bool operator==(const Problem& a, const Problem& b) noexcept {
  const auto same = [](const auto& x, const auto& y) {
    return x == y || (x != nullptr && y != nullptr && *x == *y);
  };
  return a.src_type == b.src_type && a.dst_type == b.dst_type && a.modes == b.modes &&
         a.src_offset == b.src_offset && a.dst_offset == b.dst_offset && a.values == b.values &&
         a.scale == b.scale && a.bias == b.bias && a.reduces == b.reduces &&
         a.in_place == b.in_place && same(a.blocks, b.blocks) && same(a.lists, b.lists);
}

namespace {

std::string blocks_text(const Problem& problem) {
  const Blocks& blocks = *problem.blocks;
  std::string text = fmt::format(" {} {} along {}", name_of(problem.operation()),
                                 name_of(blocks.rule.format), blocks.first.axis);
  if (blocks.rule.scale == BlockScale::ceil) text += " ceil";
  if (blocks.rule.scale == BlockScale::even) text += " even";
  if (blocks.rule.rounding == Rounding::stochastic) {
    text += fmt::format(" stochastic {}", blocks.rule.seed);
  }
  const auto scales = [&](const BlockLayout& layout) {
    if (!layout.scale_strides.empty()) {
      text += fmt::format(" scales ({})", fmt::join(layout.scale_strides, ","));
    }
    if (layout.order == ScaleOrder::packed_4) text += " four by four";
    if (layout.order == ScaleOrder::tiles_128x4) text += " in tiles";
    if (layout.across >= 0) text += fmt::format(" across {}", layout.across);
  };
  scales(blocks.first);
  if (blocks.second) {
    text += fmt::format(" and along {} ({})", blocks.second->axis,
                        fmt::join(blocks.second->value_strides, ","));
    scales(*blocks.second);
  }
  return text;
}

std::string vector_text(const char* name, const ModeVector& vector) {
  if (!vector.present) return "";
  if (vector.mode < 0) return fmt::format(" {}[{}]", name, vector.first);
  return fmt::format(" {}[{}{:+}i{}]", name, vector.first, vector.step, vector.mode);
}

// What is done to values beside the change of type.
std::string values_text(const Problem& problem) {
  const Values& values = problem.values;
  std::string text;
  if (values.alpha != 1) text += fmt::format(" alpha {}", values.alpha);
  text += vector_text("scale", problem.scale) + vector_text("bias", problem.bias);
  if (values.beta != 0) text += fmt::format(" beta {}", values.beta);
  if (values.conjugate) text += " conjugate";
  if (values.overflow == Overflow::saturate) text += " saturate";
  if (values.rounding == Rounding::stochastic) {
    text += fmt::format(" stochastic {}", values.seed);
    if (values.place != 0) text += fmt::format(" from {}", values.place);
  }
  return text;
}

}  // namespace

std::string to_string(const Problem& problem) {
  std::string extents;
  std::string src;
  std::string dst;
  for (const Mode& mode : problem.modes) {
    const char* comma = extents.empty() ? "" : ",";
    extents += fmt::format("{}{}", comma, mode.extent);
    src += fmt::format("{}{}", comma, mode.src_stride);
    dst += fmt::format("{}{}", comma, mode.dst_stride);
  }
  const std::string type = !(problem.src_type == problem.dst_type)
                               ? problem.src_type.name() + "->" + problem.dst_type.name()
                               : problem.src_type.name();
  std::string text = fmt::format("{} ({}):({})->({})", type, extents, src, dst);
  if (problem.src_offset != 0 || problem.dst_offset != 0) {
    text += fmt::format(" from +{} to +{}", problem.src_offset, problem.dst_offset);
  }
  if (problem.lists != nullptr) text += to_string(*problem.lists);
  if (problem.converts()) text += values_text(problem);
  if (problem.blocks != nullptr) text += blocks_text(problem);
  if (problem.reduces) text += " reduce";
  if (problem.in_place) text += " in place";
  return text;
}

}  // namespace cornerturn
