#include "plan/cpu/units.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <numeric>

#include "core/divide.hpp"
#include "plan/cpu/cpu_info.hpp"
#include "plan/cpu/stores.hpp"

namespace cornerturn::plan::units {
namespace {

// The longest mode along which the source is packed; -1: none has 16 bytes.
int columns_of(const Problem& normal) {
  const std::int64_t width = normal.dst_type.size();
  int columns = -1;
  for (int i = 0; i + 1 < normal.rank(); ++i) {
    const Mode& mode = normal.modes[i];
    if (std::abs(mode.src_stride) != width || mode.extent * width < row_bytes) continue;
    if (columns < 0 || mode.extent > normal.modes[columns].extent) columns = i;
  }
  return columns;
}

// Lines that lie `pitch` bytes apart share so much of the first-level cache's sets: 1 where they
// all share one. 0 where its ways hold them all. A way is as large as a page.
double in_one_set(std::int64_t count, std::int64_t pitch, const CpuInfo& cpu) {
  constexpr std::int64_t way = 4096;
  const double shared = static_cast<double>(std::gcd(pitch, way)) / static_cast<double>(way);
  const auto ways = static_cast<double>(cpu.l1_bytes) / static_cast<double>(way);
  return static_cast<double>(count) * shared > ways ? shared : 0;
}

bool fits_l1(const Problem& normal, const CpuInfo& cpu) {
  return 2 * normal.bytes() <= cpu.l1_bytes;
}

// Groups matrices along the mode in whose steps both sides go on nearest to where they were: so
// many of its indices that runs of the destination have some lines.
void group(UnitsConfig& config, const Problem& normal) {
  constexpr std::int64_t some_lines = 512;
  const Mode& rows = normal.modes.back();
  const Mode& columns = normal.modes[config.columns];
  if (std::max(rows.extent, columns.extent) > staged_runs) return;
  const std::int64_t run = rows.extent * normal.dst_type.size();
  const std::int64_t most = staged_bytes / std::min(staged_bytes + 1, run * columns.extent);
  for (int i = normal.rank() - 1; i-- > 0;) {
    const Mode& mode = normal.modes[i];
    if (i == config.columns || mode.dst_stride != run) continue;
    config.group_mode = i;
    config.group = static_cast<int>(std::min({mode.extent, most, ceil_div(some_lines, run)}));
  }
}

}  // namespace

const char* Family::why_not(const Problem& normal, const CpuInfo& cpu) {
  const std::int64_t width = normal.dst_type.size();
  if (normal.rank() < 2) return "it has fewer than two modes";
  if (!fits_l2(normal, cpu)) return "it takes what a core's second-level cache holds";
  const Mode& rows = normal.modes.back();
  if (rows.extent == 0) return "it is empty";
  if (rows.dst_stride != width || rows.extent * width < row_bytes) {
    return "its destination has no mode of 16 bytes side by side";
  }
  if (columns_of(normal) < 0) return "its source has no other mode of 16 bytes side by side";
  return nullptr;
}

void Family::configure(const Problem& normal, const CpuInfo& cpu, const Add<UnitsConfig>& add) {
  constexpr double few_sets = 0.25;
  UnitsConfig config;
  config.columns = columns_of(normal);
  add(config);
  const Mode& rows = normal.modes.back();
  const Mode& columns = normal.modes[config.columns];
  if (fits_l1(normal, cpu) ||
      std::max(in_one_set(rows.extent, rows.src_stride, cpu),
               in_one_set(columns.extent, columns.dst_stride, cpu)) < few_sets) {
    return;
  }
  group(config, normal);
  if (config.group > 1) add(config);
}

double Family::cost_ns(const UnitsConfig& config, const Problem& normal, const CpuInfo& cpu,
                       const Costs& c) {
  const std::int64_t width = normal.dst_type.size();
  const std::int64_t rows = normal.modes.back().extent;
  const std::int64_t columns = normal.modes[config.columns].extent;
  const std::int64_t unit_columns = row_bytes / width;
  const std::int64_t unit_rows = column_bytes(rows * width, vector_bytes(cpu)) / width;
  const std::int64_t count = normal.elements() / (rows * columns);
  const auto matrices = static_cast<double>(count);
  const auto units =
      static_cast<double>(ceil_div(rows, unit_rows) * ceil_div(columns, unit_columns));
  const double unit =
      c.load_ns * static_cast<double>(unit_rows) + c.store_ns * static_cast<double>(unit_columns);
  double ns = matrices * (c.matrix_ns + units * unit);
  if (fits_l1(normal, cpu)) return ns;
  // A line is visited by each matrix that has a part of it.
  const auto bytes = static_cast<double>(normal.bytes());
  const auto visits = [&](std::int64_t run, std::int64_t others, std::int64_t pitch) {
    const double parts =
        bytes / static_cast<double>(std::min<std::int64_t>(run * width, cpu.line_bytes));
    const double shared = config.group > 1 ? 0 : in_one_set(others, pitch, cpu);
    return parts * (c.l2_line_ns + shared * c.crowded_line_ns);
  };
  ns += visits(columns, rows, normal.modes.back().src_stride) +
        visits(rows, columns, normal.modes[config.columns].dst_stride);
  if (config.group > 1) ns += bytes / cpu.line_bytes * c.crowded_line_ns;
  return ns;
}

std::string Family::describe(const UnitsConfig& config, const Problem& normal) {
  return fmt::format("{} x {} elements in registers{}", normal.modes.back().extent,
                     normal.modes[config.columns].extent,
                     config.group > 1 ? fmt::format(", {} staged at a time", config.group) : "");
}

}  // namespace cornerturn::plan::units
