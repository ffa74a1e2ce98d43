#include "plan/gather.hpp"

#include <algorithm>
#include <cstdlib>
#include <numeric>

namespace cornerturn::plan::gather {

const char* why_not(const Problem&, const CpuInfo&) {
  return nullptr;
}

GatherConfig configure(const Problem&, const CpuInfo&) {
  return {};
}

// An element costs its loop or the memory traffic of its bytes, whichever takes longer. Where the
// source jumps from line to line it costs more: the way to memory, or, while the problem stays in
// the second-level cache, that to lines that the first-level cache has lost because they share few
// of its sets. In one or two sets, loads wait for stores 4096 bytes away besides.
double cost_ns(const GatherConfig&, const Problem& normal, const CpuInfo& cpu) {
  constexpr double start_ns = 20;
  constexpr double loop_ns = 0.5;
  constexpr double converting_ns = 4.0;
  constexpr double run_ns = 1.5;
  constexpr double traffic_ns_per_byte = 0.12;
  constexpr double lost_line_ns = 0.35;
  constexpr double one_set_ns = 1.6;
  constexpr double missed_line_ns = 6.0;
  constexpr std::int64_t ways = 8;
  const auto elements = static_cast<double>(normal.elements());
  if (normal.modes.empty()) return start_ns + loop_ns;
  const Mode& run = normal.modes.back();
  const bool jumps = std::abs(run.src_stride) >= cpu.line_bytes;
  double element_ns = normal.converts() ? converting_ns : loop_ns;
  if (normal.bytes() > cpu.l2_bytes) {
    element_ns = std::max(element_ns, traffic_ns_per_byte * normal.dst_type.size());
    if (jumps) element_ns += missed_line_ns;
  } else if (jumps && normal.bytes() > cpu.l1_bytes) {
    const std::int64_t way = cpu.l1_bytes / ways;
    const std::int64_t sets = way / std::gcd(run.src_stride, way);
    if (sets <= 2) {
      element_ns += one_set_ns;
    } else if (run.extent > sets * ways) {
      element_ns += lost_line_ns;
    }
  }
  const double runs = elements / static_cast<double>(std::max<std::int64_t>(run.extent, 1));
  return start_ns + elements * element_ns + runs * run_ns;
}

std::string describe(const GatherConfig&, const Problem& normal) {
  if (normal.converts()) {
    return normal.src_type.name() + " to " + normal.dst_type.name() + ", one after the other";
  }
  return std::to_string(normal.dst_type.size()) + " B at a time in destination order";
}

}  // namespace cornerturn::plan::gather
