#include "plan/gpu/gather.hpp"

#include <algorithm>
#include <cstdlib>

#include "plan/gpu/plan.hpp"
#include "plan/gpu/traffic.hpp"

namespace cornerturn::plan::gpu::gather {

namespace {
constexpr std::int64_t of_block = 1024;  // elements: those of kernels::Gather
}

const char* why_not(const Problem& normal, const DeviceInfo&) {
  if (normal.rank() > kernels::max_axes) return "more modes than any memory has elements for";
  return nullptr;
}

void configure(const Problem&, const Alignment&, const DeviceInfo&,
               const std::function<void(const GatherConfig&)>& add) {
  add({});
}

// Bound by the traffic, where whole sectors move for elements far apart, or by the instructions of
// the divisions.
double cost_seconds(const GatherConfig&, const Problem& normal, const DeviceInfo& device) {
  constexpr double instructions_per_mode = 7;
  constexpr double instructions = 12;
  const auto elements = static_cast<double>(normal.elements());
  const double issued = elements * (instructions + instructions_per_mode * normal.rank());
  const double issue_seconds = issued / (128.0 * 0.5 * device.sm_count * device.clock_hz);
  Traffic traffic = least_traffic(normal);
  // Lanes that read far apart touch a sector each, most of it for others; the caches keep some.
  constexpr double kept = 0.75;
  if (!normal.modes.empty() && std::abs(normal.modes.back().src_stride) > 32) {
    traffic.src_bytes = std::max(traffic.src_bytes, elements * 32 * (1 - kept));
  }
  double efficiency = 0.9;
  const int element = normal.dst_type.size();
  if (element == 16 && !normal.modes.empty() && normal.modes.back().src_stride == element) {
    // Rows that both sides share.
    const std::int64_t row = normal.modes.back().extent * element;
    efficiency = row >= 256 ? 0.965 : row >= 128 ? 0.91 : row >= 64 ? 0.84 : 0.75;
  }
  return device.launch_seconds +
         std::max(issue_seconds, traffic.bytes() / (efficiency * device.copy_bandwidth));
}

std::string describe(const GatherConfig&, const Problem& normal) {
  return std::to_string(normal.dst_type.size()) + " B at a time in destination order";
}

Prepared prepare(const GatherConfig&, const Problem& normal) {
  kernels::GatherArgs args;
  args.elements = normal.elements();
  args.element_bytes = normal.dst_type.size();
  args.rank = normal.rank();
  for (int i = 0; i < normal.rank(); ++i) {
    const Mode& mode = normal.modes[normal.rank() - 1 - i];
    kernels::GatherArgs::Mode& to = args.mode[i];
    const auto extent = static_cast<std::uint64_t>(std::max<std::int64_t>(mode.extent, 1));
    if (extent < (1U << 31)) to.narrow = FastDivide(static_cast<std::uint32_t>(extent));
    to.wide = FastDivide64(extent);
    to.src_stride = mode.src_stride;
    to.dst_stride = mode.dst_stride;
  }
  const std::int64_t blocks = std::min<std::int64_t>((args.elements + of_block - 1) / of_block,
                                                     (std::int64_t{1} << 31) - 1);
  return {args, {{static_cast<unsigned>(blocks), 1, 1}, {256, 1, 1}, 0}};
}

}  // namespace cornerturn::plan::gpu::gather
