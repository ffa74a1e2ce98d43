#include "plan/cpu/strided.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "plan/cpu/cpu_info.hpp"

namespace cornerturn::plan::strided {
namespace {

// Policies: a run is done in parts that leave room in the first-level cache, and the partial lines
// at the ends of runs of so many bytes do not count.
constexpr std::int64_t longest_chunk_bytes = 16 << 10;
constexpr std::int64_t long_run = 4 << 10;

}  // namespace

const char* Family::why_not(const Problem& normal, const CpuInfo& cpu) {
  if (normal.rank() == 0 || normal.modes.back().dst_stride != normal.dst_type.size()) {
    return "it needs a destination whose fastest mode is packed";
  }
  if (std::abs(normal.modes.back().src_stride) > cpu.line_bytes) {
    return "it needs source elements less than a cache line apart";
  }
  return nullptr;
}

void Family::configure(const Problem& normal, const CpuInfo& cpu, const Add<StridedConfig>& add) {
  const std::int64_t size = normal.dst_type.size();
  const Mode& fastest = normal.modes.back();
  add({std::max<std::int64_t>(1, std::min(fastest.extent, longest_chunk_bytes / size)),
       size <= 8 && fastest.src_stride == 2 * size, stores_for(normal, cpu)});
}

double Family::cost_ns(const StridedConfig& config, const Problem& normal, const CpuInfo&,
                       const Costs& c) {
  const Mode& fastest = normal.modes.back();
  const double elements = static_cast<double>(normal.elements());
  const double rows = elements / static_cast<double>(std::max<std::int64_t>(config.chunk, 1));
  // All lines of the source are read, and partial ones are written where a row ends.
  const double read = elements * static_cast<double>(std::abs(fastest.src_stride));
  const double moved = read + static_cast<double>(normal.bytes());
  const bool is_short = config.chunk * normal.dst_type.size() < long_run;
  const double partial = is_short ? c.partial_lines_ns : 0.0;
  const double element_ns = config.pairs ? 0.0 : double{c.single_element_ns};
  return rows * (c.chunk_ns + partial) + moved / c.moved_bytes_a_ns + elements * element_ns;
}

std::string Family::describe(const StridedConfig& config, const Problem&) {
  return fmt::format("{}{} elements at a time{}", config.pairs ? "every second element, " : "",
                     config.chunk, past_caches(config.stores) ? ", stored around the caches" : "");
}

}  // namespace cornerturn::plan::strided
