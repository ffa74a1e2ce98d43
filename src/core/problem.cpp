#include "core/problem.hpp"

#include <fmt/format.h>

namespace cornerturn {

std::int64_t Problem::elements() const noexcept {
  // Unsigned: an extent of 0 may follow some whose product overflows.
  std::uint64_t product = 1;
  for (const Mode& mode : modes) product *= static_cast<std::uint64_t>(mode.extent);
  return static_cast<std::int64_t>(product);
}

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
  const std::string type = problem.converts()
                               ? problem.src_type.name() + "->" + problem.dst_type.name()
                               : problem.src_type.name();
  std::string text = fmt::format("{} ({}):({})->({})", type, extents, src, dst);
  if (problem.src_offset != 0 || problem.dst_offset != 0) {
    text += fmt::format(" from +{} to +{}", problem.src_offset, problem.dst_offset);
  }
  return text;
}

}  // namespace cornerturn
