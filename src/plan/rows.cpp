#include "plan/rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "plan/planner.hpp"

namespace cornerturn::plan::rows {
namespace {

// The last mode is the run, unless the run is a single (widened) element.
bool run_is_a_mode(const Problem& normal) {
  const std::int64_t size = normal.dst_type.size();
  return normal.rank() > 0 && normal.modes.back().src_stride == size &&
         normal.modes.back().dst_stride == size;
}

std::int64_t run_bytes(const Problem& normal) {
  return (run_is_a_mode(normal) ? normal.modes.back().extent : 1) * normal.dst_type.size();
}

}  // namespace

const char* why_not(const Problem& normal, const CpuInfo&) {
  if (!run_is_a_mode(normal) && normal.dst_type.size() < 8) {
    return "it needs a run of bytes that both sides share, of 3 bytes or more";
  }
  return nullptr;
}

RowsConfig configure(const Problem& normal, const CpuInfo& cpu) {
  constexpr std::int64_t longest_chunk = 1 << 20;
  constexpr std::int64_t short_row = 1024;          // source lines are worth sharing below this
  constexpr std::int64_t tile_run_bytes = 4 << 10;  // of source, contiguous
  RowsConfig config;
  const std::int64_t run = run_bytes(normal);
  config.run_bytes = run;
  config.chunk_bytes = std::min(run, longest_chunk);
  config.non_temporal = stores_bypass_cache(normal, cpu);
  const int outer = normal.rank() - (run_is_a_mode(normal) ? 1 : 0);
  if (outer == 0) return config;

  config.along = outer - 1;
  const Mode& along = normal.modes[config.along];
  config.packed = along.dst_stride == run && config.chunk_bytes == run;
  const auto rows_of = [](std::int64_t bytes, std::int64_t row) {
    return std::max<std::int64_t>(1, bytes / row);
  };
  config.along_block = std::min(along.extent, rows_of(longest_chunk, run));

  for (int i = 0; i < config.along; ++i) {
    if (config.across < 0 ||
        std::abs(normal.modes[i].src_stride) < std::abs(normal.modes[config.across].src_stride)) {
      config.across = i;
    }
  }
  const bool shares_lines =
      config.across >= 0 && run < short_row && run % cpu.line_bytes != 0 &&
      std::abs(normal.modes[config.across].src_stride) < std::abs(along.src_stride) &&
      std::abs(normal.modes[config.across].src_stride) < run + cpu.line_bytes;
  if (!shares_lines) {
    config.across = -1;
    return config;
  }
  // A tile's source: pieces of `tile_run_bytes`, as many as half of the second-level cache holds.
  const Mode& across = normal.modes[config.across];
  config.across_block = std::min(across.extent, rows_of(tile_run_bytes, run));
  config.along_block =
      std::min(along.extent, rows_of(cpu.l2_bytes / 2, config.across_block * run + cpu.line_bytes));
  return config;
}

double cost_ns(const RowsConfig& config, const Problem& normal, const CpuInfo& cpu) {
  const double run = static_cast<double>(run_bytes(normal));
  const double rows = static_cast<double>(normal.bytes()) / run;
  double row_ns = 1.0 + run / (config.non_temporal ? 16.0 : 25.0);
  // A jump in the source wastes part of a line, in the destination it writes partial ones.
  if (config.non_temporal && run < 4096) {
    if (config.across < 0) row_ns += 1.5;
    if (!config.packed) row_ns += static_cast<double>(cpu.line_bytes) / 8.0;
  }
  return 20.0 + rows * row_ns;
}

std::string describe(const RowsConfig& config, const Problem& normal) {
  std::string text = fmt::format("rows of {} B", run_bytes(normal));
  if (config.across >= 0) {
    text += fmt::format(", tiles of {} x {}", config.across_block, config.along_block);
  }
  if (config.packed) text += ", joined into lines";
  return text + (config.non_temporal ? ", stored around the caches" : "");
}

}  // namespace cornerturn::plan::rows
