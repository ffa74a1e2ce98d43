#include "plan/strided.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "plan/planner.hpp"

namespace cornerturn::plan::strided {

const char* why_not(const Problem& normal, const CpuInfo& cpu) {
  if (normal.rank() == 0 || normal.modes.back().dst_stride != normal.dst_type.size()) {
    return "it needs a destination whose fastest mode is packed";
  }
  if (std::abs(normal.modes.back().src_stride) > cpu.line_bytes) {
    return "it needs source elements less than a cache line apart";
  }
  return nullptr;
}

StridedConfig configure(const Problem& normal, const CpuInfo& cpu) {
  constexpr std::int64_t longest_chunk_bytes = 16 << 10;
  const std::int64_t size = normal.dst_type.size();
  const Mode& fastest = normal.modes.back();
  return {std::max<std::int64_t>(1, std::min(fastest.extent, longest_chunk_bytes / size)),
          size <= 8 && fastest.src_stride == 2 * size, stores_bypass_cache(normal, cpu)};
}

double cost_ns(const StridedConfig& config, const Problem& normal, const CpuInfo& cpu) {
  const Mode& fastest = normal.modes.back();
  const double elements = static_cast<double>(normal.elements());
  const double rows = elements / static_cast<double>(std::max<std::int64_t>(config.chunk, 1));
  // All lines of the source are read, and partial ones are written where a row ends.
  const double read = elements * static_cast<double>(std::abs(fastest.src_stride));
  const double moved = read + static_cast<double>(normal.bytes());
  const double partial = config.chunk * normal.dst_type.size() < 4096 ? cpu.line_bytes / 4.0 : 0.0;
  return 20.0 + rows * (10.0 + partial) + moved / 32.0 + (config.pairs ? 0.0 : elements * 0.5);
}

std::string describe(const StridedConfig& config, const Problem&) {
  return fmt::format("{}{} elements at a time{}", config.pairs ? "every second element, " : "",
                     config.chunk, config.non_temporal ? ", stored around the caches" : "");
}

}  // namespace cornerturn::plan::strided
