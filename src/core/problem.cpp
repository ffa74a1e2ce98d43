#include "core/problem.hpp"

#include <fmt/format.h>

namespace cornerturn {

bool Problem::converts() const noexcept {
  const bool complex = src_type.kind() == Kind::c64 || src_type.kind() == Kind::c128;
  return !(src_type == dst_type) || values.alpha != 1 || values.beta != 0 || scale.present ||
         bias.present || (values.conjugate && complex);
}

std::int64_t Problem::elements() const noexcept {
  // Unsigned: an extent of 0 may follow some whose product overflows.
  std::uint64_t product = 1;
  for (const Mode& mode : modes) product *= static_cast<std::uint64_t>(mode.extent);
  return static_cast<std::int64_t>(product);
}

namespace {

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
  if (problem.converts()) text += values_text(problem);
  return text;
}

}  // namespace cornerturn
