#include "plan/swap.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "plan/cpu_info.hpp"

namespace cornerturn::plan {

std::optional<SwapSplit> split_swap(const Problem& normal) {
  SwapSplit split{};
  split.element = normal.src_type.size();
  int moved = 0;
  for (const Mode& mode : normal.modes) {
    if (mode.src_stride == mode.dst_stride) {
      if (mode.dst_stride == normal.src_type.size()) {
        split.element = mode.extent * mode.dst_stride;
      } else {
        split.batch.push_back(mode);
      }
      continue;
    }
    const std::int64_t row = std::max(mode.src_stride, mode.dst_stride);
    const std::int64_t column = std::min(mode.src_stride, mode.dst_stride);
    const bool same =
        mode.extent == split.extent && row == split.row_stride && column == split.column_stride;
    if (++moved > 2 || (moved == 2 && !same)) return std::nullopt;
    split.extent = mode.extent;
    split.row_stride = row;
    split.column_stride = column;
  }
  if (moved != 2) return std::nullopt;
  return split;
}

namespace swap {
namespace {

// Policies. A row of a tile is so many bytes long, where that is at least so many elements; a tile
// has at most so many.
constexpr std::int64_t row_bytes = 256;
constexpr std::int64_t least_tile = 16;
constexpr std::int64_t most_tile = 128;
// Rows a multiple of so many bytes apart share few sets of the first-level cache.
constexpr std::int64_t conflicting_pitch = 1024;

}  // namespace

const char* Family::why_not(const Problem& normal, const CpuInfo&) {
  return split_swap(normal) ? nullptr : "it is not one exchange of two modes of the same extent";
}

void Family::configure(const Problem& normal, const CpuInfo&, const Add<SwapConfig>& add) {
  const SwapSplit split = *split_swap(normal);
  SwapConfig config;
  config.tile = static_cast<int>(std::clamp(row_bytes / split.element, least_tile, most_tile));
  if (!split.in_registers()) config.tile = static_cast<int>(least_tile);
  config.copy_rows = split.in_registers() && split.row_stride % conflicting_pitch == 0;
  add(config);
}

double Family::cost_ns(const SwapConfig&, const Problem& normal, const CpuInfo& cpu) {
  const Costs& c = cpu.costs.swap;
  const SwapSplit split = *split_swap(normal);
  const auto bytes = static_cast<double>(normal.bytes());
  const auto elements = bytes / static_cast<double>(split.element);
  const double matrices =
      elements / static_cast<double>(split.extent) / static_cast<double>(split.extent);
  const double single = split.in_registers() ? 0 : elements * c.element_ns;
  return c.start_ns + matrices * c.matrix_ns + bytes / cpu.line_bytes * c.line_ns + single;
}

std::string Family::describe(const SwapConfig& config, const Problem& normal) {
  const SwapSplit split = *split_swap(normal);
  return fmt::format("tiles of {} x {} elements of {} bytes{}{}", config.tile, config.tile,
                     split.element, split.in_registers() ? ", in registers" : "",
                     config.copy_rows ? ", rows copied first" : "");
}

std::string Family::details(const SwapConfig&) {
  return "traffic     every byte is read and written once\nworkspace   none\n";
}

}  // namespace swap
}  // namespace cornerturn::plan
