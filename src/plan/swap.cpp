#include "plan/swap.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

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

// Policies. The rows of a group have so many elements, or four tiles: their pages are then all
// known to the processor.
constexpr std::int64_t single_tile = 16;  // where elements are not transposed in registers
constexpr std::int64_t group_elements = 256;
constexpr std::int64_t least_group = 4;
// A first-level cache has so many places for lines that are this far apart. So has a second-level
// cache for lines that are one `places`th of it apart.
constexpr std::int64_t cache_stride = 4096;
constexpr std::int64_t places = 8;

// Do the rows of a square of lines throw each other out of the first-level cache?
bool rows_collide(const SwapSplit& split) {
  const std::int64_t apart = std::gcd(split.row_stride, cache_stride);
  return line_square(split.element) > places * (cache_stride / apart);
}

// A tile stays in the second-level cache from when it is copied until it is written: its side is so
// many squares of lines as have room for their rows there.
std::int64_t staged_side(const SwapSplit& split, const CpuInfo& cpu) {
  const std::int64_t apart = std::gcd(split.row_stride, cpu.l2_bytes / places);
  std::int64_t lines = lines_a_row;
  while (lines > 1 && lines * line_square(split.element) > cpu.l2_bytes / apart) lines /= 2;
  return lines * line_square(split.element);
}

}  // namespace

const char* Family::why_not(const Problem& normal, const CpuInfo&) {
  return split_swap(normal) ? nullptr : "it is not one exchange of two modes of the same extent";
}

void Family::configure(const Problem& normal, const CpuInfo& cpu, const Add<SwapConfig>& add) {
  const SwapSplit split = *split_swap(normal);
  if (!split.in_registers()) {
    return add({single_tile, static_cast<int>(group_elements / single_tile), false});
  }
  const bool staged = rows_collide(split);
  const std::int64_t tile =
      staged ? staged_side(split, cpu) : lines_a_row * line_square(split.element);
  add({static_cast<int>(tile), static_cast<int>(std::max(group_elements / tile, least_group)),
       staged});
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
  return fmt::format("tiles of {} x {} elements of {} bytes in groups of {} x {}{}", config.tile,
                     config.tile, split.element, config.group, config.group,
                     !split.in_registers() ? ""
                     : config.staged       ? ", copied to the side first"
                                           : ", in registers");
}

std::string Family::details(const SwapConfig&) {
  return "traffic     every byte is read and written once\nworkspace   none\n";
}

}  // namespace swap
}  // namespace cornerturn::plan
