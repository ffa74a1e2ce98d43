#include "plan/cpu/swap.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "plan/cpu/cpu_info.hpp"
#include "plan/swap_split.hpp"

namespace cornerturn::plan::swap {
namespace {

// Policies. The rows of a group have so many elements: their pages are then all known to the
// processor.
constexpr std::int64_t single_tile = 16;  // where elements are not transposed in registers
constexpr std::int64_t group_elements = 256;

// Is it faster block by block, without a copy at the side? In the second-level cache it is; and up
// to eight times its size where rows begin anywhere in lines, which a copy takes apart.
bool stays_in_caches(const SwapSplit& split, const Problem& normal, const CpuInfo& cpu) {
  const bool whole_lines = split.row_stride % cpu.line_bytes == 0;
  return normal.bytes() <= (whole_lines ? cpu.l2_bytes / 2 : 8 * cpu.l2_bytes);
}

}  // namespace

const char* Family::why_not(const Problem& normal, const CpuInfo&) {
  return split_swap(normal) ? nullptr : "it is not one exchange of two modes of the same extent";
}

void Family::configure(const Problem& normal, const CpuInfo& cpu, const Add<SwapConfig>& add) {
  const SwapSplit split = *split_swap(normal);
  const bool vectors = split.in_registers();
  const std::int64_t tile = vectors ? tile_side(split.element) : single_tile;
  add({static_cast<int>(tile), static_cast<int>(group_elements / tile),
       vectors && !stays_in_caches(split, normal, cpu)});
}

double Family::cost_ns(const SwapConfig&, const Problem& normal, const CpuInfo& cpu,
                       const Costs& c) {
  const SwapSplit split = *split_swap(normal);
  const auto bytes = static_cast<double>(normal.bytes());
  const auto elements = bytes / static_cast<double>(split.element);
  const double matrices =
      elements / static_cast<double>(split.extent) / static_cast<double>(split.extent);
  const double single = split.in_registers() ? 0 : elements * c.element_ns;
  return matrices * c.matrix_ns + bytes / cpu.line_bytes * c.line_ns + single;
}

std::string Family::describe(const SwapConfig& config, const Problem& normal) {
  const SwapSplit split = *split_swap(normal);
  return fmt::format("tiles of {} x {} elements of {} bytes in groups of {} x {}{}", config.tile,
                     config.tile, split.element, config.group, config.group,
                     !split.in_registers() ? ""
                     : config.staged       ? ", copied to the side first"
                                           : ", in registers");
}

std::string Family::details(const SwapConfig&) {
  return "traffic     every byte is read and written once\nworkspace   none\n";
}

}  // namespace cornerturn::plan::swap
