#include "plan/gather.hpp"

#include <algorithm>
#include <cstdlib>

namespace cornerturn::plan::gather {

const char* why_not(const Problem&, const CpuInfo&) {
  return nullptr;
}

GatherConfig configure(const Problem&, const CpuInfo&) {
  return {};
}

// An element costs its loop or the memory traffic of its bytes, whichever takes longer, and a cache
// line of its own where the source jumps.
double cost_ns(const GatherConfig&, const Problem& normal, const CpuInfo& cpu) {
  constexpr double loop_ns = 0.6;
  constexpr double traffic_ns_per_byte = 0.12;
  constexpr double missed_line_ns = 6.0;
  const bool leaves_caches = normal.bytes() > cpu.l2_bytes;
  const bool jumps = leaves_caches && !normal.modes.empty() &&
                     std::abs(normal.modes.back().src_stride) >= cpu.line_bytes;
  const double traffic_ns = leaves_caches ? traffic_ns_per_byte * normal.dst_type.size() : 0.0;
  return static_cast<double>(normal.elements()) *
         (std::max(loop_ns, traffic_ns) + (jumps ? missed_line_ns : 0.0));
}

std::string describe(const GatherConfig&, const Problem& normal) {
  return std::to_string(normal.dst_type.size()) + " B at a time in destination order";
}

}  // namespace cornerturn::plan::gather
