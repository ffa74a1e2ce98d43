#include "plan/rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <numeric>

#include "core/divide.hpp"
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

// Blocks of a box while they are chosen.
class Blocks {
 public:
  Blocks(RowsConfig& config, const Problem& normal) : config_(config), normal_(normal) {}

  // Takes about `rows` steps of `mode`, in blocks that leave no small rest: a multiple of `unit`.
  void take(int mode, std::int64_t rows, std::int64_t unit = 1) {
    const std::int64_t extent = normal_.modes[mode].extent;
    rows = std::clamp<std::int64_t>(rows, 1, extent);
    const std::int64_t parts = ceil_div(extent, rows);
    rows = std::min(ceil_div(ceil_div(extent, parts), unit) * unit, extent);
    for (RowsConfig::Block& block : config_.blocks) {
      if (block.mode != -1 && block.mode != mode) continue;
      block = {mode, std::max(block.rows, rows)};
      return;
    }
  }

 private:
  RowsConfig& config_;
  const Problem& normal_;
};

// Source lines that lie a multiple of a power of two apart share few sets of a cache: so many rows
// `stride` bytes apart still stay in it together with those fetched ahead.
std::int64_t rows_that_stay(std::int64_t stride, const CpuInfo& cpu) {
  constexpr std::int64_t ways = 8;
  const std::int64_t way = cpu.l2_bytes / ways;
  const std::int64_t spacing = std::min(stride & -stride, way);
  return spacing == 0 ? way : std::max<std::int64_t>(4, ways * 3 / 8 * way / spacing);
}

}  // namespace

const char* why_not(const Problem& normal, const CpuInfo&) {
  if (!run_is_a_mode(normal) && normal.dst_type.size() < 16) {
    return "it needs a fastest mode that both sides share, or elements of 16 bytes";
  }
  return nullptr;
}

RowsConfig configure(const Problem& normal, const CpuInfo& cpu) {
  constexpr std::int64_t longest_chunk = 16 << 10;
  constexpr std::int64_t long_enough = 4 << 10;  // for a stretch of either side
  const std::int64_t run = run_bytes(normal);
  RowsConfig config;
  config.run_bytes = run;
  config.chunk_bytes = std::min(run, longest_chunk);
  config.outer_rank = normal.rank() - (run_is_a_mode(normal) ? 1 : 0);
  config.non_temporal = stores_bypass_cache(normal, cpu);
  if (run >= long_enough || config.outer_rank == 0) return config;

  // Staged rows leave in short stretches: only worth it when those begin and end with lines.
  const int along = config.outer_rank - 1;
  bool staged = run < cpu.line_bytes && normal.modes[along].dst_stride == run;
  for (int i = 0; i < along; ++i) {
    staged = staged && normal.modes[i].dst_stride % cpu.line_bytes == 0;
  }
  // A box is a stretch of the source times one of the destination. Staged, it fills half of the
  // first-level cache; otherwise it stays in the second-level cache beside the next one.
  const auto box_bytes = static_cast<double>(staged ? cpu.l1_bytes / 2 : cpu.l2_bytes / 4);
  const std::int64_t wanted = std::min(
      long_enough, static_cast<std::int64_t>(std::sqrt(box_bytes * static_cast<double>(run))));
  Blocks blocks(config, normal);

  // The source's stretch.
  std::int64_t bytes = run;
  bool taken[ModeList::capacity] = {};
  while (bytes < wanted) {
    int next = -1;
    for (int i = 0; i < config.outer_rank; ++i) {
      const std::int64_t stride = std::abs(normal.modes[i].src_stride);
      if (!taken[i] && stride != 0 && stride <= 2 * bytes + cpu.line_bytes &&
          (next < 0 || stride < std::abs(normal.modes[next].src_stride))) {
        next = i;
      }
    }
    if (next < 0) break;
    taken[next] = true;
    blocks.take(next, ceil_div(wanted, bytes));
    bytes *= normal.modes[next].extent;
  }
  config.staged = staged && bytes > run;
  // The destination's stretch, in whole lines where that is possible.
  bytes = run;
  for (int i = along; i >= 0 && bytes < wanted; --i) {
    const Mode& mode = normal.modes[i];
    if (i < along && mode.dst_stride > 2 * bytes) break;
    std::int64_t rows = ceil_div(wanted, bytes);
    if (!config.staged) rows = std::min(rows, rows_that_stay(std::abs(mode.src_stride), cpu));
    blocks.take(i, rows, i == along ? cpu.line_bytes / std::gcd(run, cpu.line_bytes) : 1);
    bytes *= mode.extent;
  }
  return config;
}

double cost_ns(const RowsConfig& config, const Problem& normal, const CpuInfo& cpu) {
  const double run = static_cast<double>(std::max<std::int64_t>(config.run_bytes, 1));
  const double rows = static_cast<double>(normal.bytes()) / run;
  double row_ns = 0.4 + run / (config.non_temporal ? 16.0 : 25.0);
  const bool joined =
      config.outer_rank > 0 && normal.modes[config.outer_rank - 1].dst_stride == config.run_bytes;
  // Rows that stand alone in the destination write partial lines.
  if (!joined && run < 4096) row_ns += static_cast<double>(cpu.line_bytes) / 8.0;
  return 20.0 + rows * row_ns;
}

std::string describe(const RowsConfig& config, const Problem&) {
  std::string text = fmt::format("rows of {} B", config.run_bytes);
  std::string box;
  for (const RowsConfig::Block& block : config.blocks) {
    if (block.rows > 1) box += fmt::format("{}{}", box.empty() ? "" : " x ", block.rows);
  }
  if (!box.empty()) text += ", boxes of " + box;
  if (config.chunk_bytes < config.run_bytes) {
    text += fmt::format(", {} B at a time", config.chunk_bytes);
  }
  if (config.staged) text += ", through a stage";
  return text + (config.non_temporal ? ", fetched ahead, stored around the caches" : "");
}

}  // namespace cornerturn::plan::rows
