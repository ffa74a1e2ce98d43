#include "plan/cpu/rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <numeric>

#include "core/divide.hpp"
#include "plan/cpu/cpu_info.hpp"
#include "plan/cpu/stores.hpp"

namespace cornerturn::plan::rows {
namespace {

// Policies. A stretch of either side is long enough with so many bytes: what its ends cost no
// longer counts. A long run is done in parts that leave room in the first-level cache. Staged boxes
// fill a share of the first-level cache, others of the second level, where the next box is fetched
// to.
constexpr std::int64_t long_enough = 4 << 10;
constexpr std::int64_t longest_chunk = 16 << 10;
constexpr std::int64_t longest_copied = 128 << 10;  // what begins with a copy costs less then
constexpr std::int64_t staged_l1_share = 2;
constexpr std::int64_t l2_share = 4;
constexpr std::int64_t fewest_boxes_stored_around = 8;  // of those that go through the caches too

// Bytes of the element that the runs of the destination repeat, if they do, and if a whole number
// of them fills a vector of 16 bytes.
std::int64_t repeated_bytes(const Problem& normal) {
  const std::int64_t size = normal.dst_type.size();
  const bool repeats = normal.rank() > 0 && normal.modes.back().src_stride == 0 &&
                       normal.modes.back().dst_stride == size;
  return repeats && size <= 16 && (size & (size - 1)) == 0 ? size : 0;
}

// The last mode is the run, unless the run is a single (widened) element.
bool run_is_a_mode(const Problem& normal) {
  const std::int64_t size = normal.dst_type.size();
  return (normal.rank() > 0 && normal.modes.back().src_stride == size &&
          normal.modes.back().dst_stride == size) ||
         repeated_bytes(normal) > 0;
}

std::int64_t run_bytes(const Problem& normal) {
  return (run_is_a_mode(normal) ? normal.modes.back().extent : 1) * normal.dst_type.size();
}

// Blocks of a box while they are chosen.
class Blocks {
 public:
  Blocks(RowsConfig& config, const Problem& normal) : config_(config), normal_(normal) {}

  // Takes about `rows` steps of `mode`, a multiple of `unit`, in blocks that leave no small rest:
  // a box is fetched while the one before it is moved.
  void take(int mode, std::int64_t rows, std::int64_t unit = 1) {
    const std::int64_t extent = normal_.modes[mode].extent;
    rows = std::clamp<std::int64_t>(rows, 1, extent);
    rows = block_of(extent, ceil_div(extent, rows), unit);
    while (extent % rows > 0 && 2 * (extent % rows) < rows) {
      rows = block_of(extent, extent / rows, unit);
    }
    for (RowsConfig::Block& block : config_.blocks) {
      if (block.mode != -1 && block.mode != mode) continue;
      block = {mode, std::max(block.rows, rows)};
      return;
    }
  }

 private:
  static std::int64_t block_of(std::int64_t extent, std::int64_t parts, std::int64_t unit) {
    return std::min(ceil_div(ceil_div(extent, parts), unit) * unit, extent);
  }

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

// Staged rows leave in short stretches: only worth it when those begin and end with lines.
bool may_stage(const RowsConfig& config, const Problem& normal, const CpuInfo& cpu) {
  const int along = config.outer_rank - 1;
  if (config.repeated_bytes > 0) return false;
  if (config.run_bytes >= cpu.line_bytes || normal.modes[along].dst_stride != config.run_bytes) {
    return false;
  }
  for (int i = 0; i < along; ++i) {
    if (normal.modes[i].dst_stride % cpu.line_bytes != 0) return false;
  }
  return true;
}

// The mode with the smallest source stride, among those that are not taken, which continues a
// stretch of `bytes`; -1: none does.
int next_in_source(const RowsConfig& config, const Problem& normal, const CpuInfo& cpu,
                   const bool* taken, std::int64_t bytes) {
  int next = -1;
  for (int i = 0; i < config.outer_rank; ++i) {
    const std::int64_t stride = std::abs(normal.modes[i].src_stride);
    if (!taken[i] && stride != 0 && stride <= 2 * bytes + cpu.line_bytes &&
        (next < 0 || stride < std::abs(normal.modes[next].src_stride))) {
      next = i;
    }
  }
  return next;
}

// Takes blocks of modes until a stretch of the source has `wanted` bytes; returns those that it
// has.
std::int64_t take_in_source(RowsConfig& config, const Problem& normal, const CpuInfo& cpu,
                            std::int64_t wanted) {
  Blocks blocks(config, normal);
  std::int64_t bytes = config.source_bytes();
  bool taken[ModeList::capacity] = {};
  while (bytes < wanted) {
    const int next = next_in_source(config, normal, cpu, taken, bytes);
    if (next < 0) break;
    taken[next] = true;
    // Twice as much is better than a mode in two parts.
    const std::int64_t rows = ceil_div(wanted, bytes);
    const std::int64_t extent = normal.modes[next].extent;
    blocks.take(next, extent <= 2 * rows ? extent : rows);
    bytes *= normal.modes[next].extent;
  }
  return bytes;
}

// Takes blocks of modes until a stretch of the destination has `wanted` bytes, in whole lines where
// that is possible. Rows that follow each other there may be `together` bytes.
void take_in_destination(RowsConfig& config, const Problem& normal, const CpuInfo& cpu,
                         std::int64_t wanted, std::int64_t together) {
  Blocks blocks(config, normal);
  const int along = config.outer_rank - 1;
  std::int64_t bytes = config.run_bytes;
  for (int i = along; i >= 0 && bytes < wanted; --i) {
    const Mode& mode = normal.modes[i];
    if (i < along && mode.dst_stride > 2 * bytes) break;
    std::int64_t rows = ceil_div(i == along ? together : wanted, bytes);
    if (!config.staged) rows = std::min(rows, rows_that_stay(std::abs(mode.src_stride), cpu));
    const std::int64_t whole_lines = cpu.line_bytes / std::gcd(config.run_bytes, cpu.line_bytes);
    blocks.take(i, rows, i == along ? whole_lines : 1);
    bytes *= mode.extent;
  }
}

// A box is a stretch of the source times one of the destination.
void choose_box(RowsConfig& config, const Problem& normal, const CpuInfo& cpu) {
  const std::int64_t run = config.run_bytes;
  const bool staged = may_stage(config, normal, cpu);
  const auto box_bytes =
      static_cast<double>(staged ? cpu.l1_bytes / staged_l1_share : cpu.l2_bytes / l2_share);
  const std::int64_t wanted = std::min(
      long_enough, static_cast<std::int64_t>(std::sqrt(box_bytes * static_cast<double>(run))));
  config.staged = take_in_source(config, normal, cpu, wanted) > run && staged;
  take_in_destination(config, normal, cpu, wanted, wanted);
}

// Parts of a long run: as long as each other, so that each fetches as much as it moves.
std::int64_t chunk_of(std::int64_t run, std::int64_t longest, const CpuInfo& cpu) {
  if (run <= longest) return run;
  const std::int64_t part = ceil_div(run, ceil_div(run, longest));
  return ceil_div(part, cpu.line_bytes) * cpu.line_bytes;
}

std::int64_t boxes_of(const RowsConfig& config, const Problem& normal) {
  std::int64_t boxes = ceil_div(config.run_bytes, std::max<std::int64_t>(1, config.chunk_bytes));
  for (int i = 0; i < config.outer_rank; ++i) {
    boxes *= ceil_div(normal.modes[i].extent, config.block_of(i));
  }
  return boxes;
}

// Bytes of a box that lie side by side on one side, or nearly so.
double side_by_side(const RowsConfig& config, const Problem& normal, std::int64_t Mode::*stride,
                    std::int64_t row_bytes) {
  auto run = static_cast<double>(row_bytes);
  for (bool grew = true; grew;) {
    grew = false;
    for (int i = 0; i < config.outer_rank && !grew; ++i) {
      const double step = std::abs(static_cast<double>(normal.modes[i].*stride));
      const double reach = step * static_cast<double>(config.block_of(i));
      if (step > 2 * run || reach <= run) continue;
      run = reach;
      grew = config.block_of(i) == normal.modes[i].extent;
      if (!grew) return run;
    }
  }
  return run;
}

// Does a box read rows that share lines, or lie in lines side by side, from the last to the first?
bool is_read_backwards(const RowsConfig& config, const Problem& normal, const CpuInfo& cpu) {
  for (int i = 0; i < config.outer_rank; ++i) {
    const std::int64_t stride = normal.modes[i].src_stride;
    if (stride < 0 && -stride <= cpu.line_bytes && config.block_of(i) > 1) return true;
  }
  return false;
}

// Bytes of a box that the destination holds without a gap. Do they begin or end within a line?
struct Stretch {
  std::int64_t bytes;
  bool has_partial_lines;
};

Stretch stretch_of(const RowsConfig& config, const Problem& normal, const CpuInfo& cpu,
                   int dst_phase) {
  std::int64_t bytes = std::max<std::int64_t>(config.run_bytes, 1);
  int rest = config.outer_rank;
  while (rest > 0 && normal.modes[rest - 1].dst_stride == bytes) {
    --rest;
    bytes *= config.block_of(rest);
    if (config.block_of(rest) < normal.modes[rest].extent) break;
  }
  bool partial = bytes % cpu.line_bytes != 0 || dst_phase != 0;
  for (int i = 0; i < rest; ++i) partial |= normal.modes[i].dst_stride % cpu.line_bytes != 0;
  return {bytes, partial};
}

// What a row costs, whether or not a box has others beside it.
double row_cost_ns(const RowsConfig& config, const Problem& normal, const CpuInfo& cpu,
                   const Costs& c) {
  const bool cached = fits_l2(normal, cpu);
  const double bytes_a_ns = past_caches(config.stores) ? c.past_caches_bytes_a_ns
                            : cached                   ? c.cached_bytes_a_ns
                                                       : c.regular_bytes_a_ns;
  const bool backwards = !cached && is_read_backwards(config, normal, cpu);
  const auto run = static_cast<double>(std::max<std::int64_t>(config.run_bytes, 1));
  return c.row_ns + (backwards ? double{c.backwards_row_ns} : 0.0) + run / bytes_a_ns;
}

// Where it is not known which stores are faster, both: calls learn it.
void add_with_stores(RowsConfig config, const Problem& normal, const CpuInfo& cpu,
                     const Add<RowsConfig>& add) {
  const bool either = either_stores(normal, cpu);
  if (!either || boxes_of(config, normal) < fewest_boxes_stored_around) {
    config.fetched = either;
    return add(config);
  }
  RowsConfig copied = config;
  if (config.repeated_bytes == 0) {
    copied.chunk_bytes = chunk_of(config.run_bytes, longest_copied, cpu);
  }
  add(copied);
  config.stores = Stores::past_caches;
  add(config);
}

}  // namespace

const char* Family::why_not(const Problem& normal, const CpuInfo&) {
  if (!run_is_a_mode(normal) && normal.dst_type.size() < 16) {
    return "it needs a fastest mode that both sides share, or one that repeats an element of 1, 2, "
           "4, 8 or 16 bytes, or elements of 16 bytes or more";
  }
  return nullptr;
}

void Family::configure(const Problem& normal, const CpuInfo& cpu, const Add<RowsConfig>& add) {
  const std::int64_t run = run_bytes(normal);
  RowsConfig config;
  config.run_bytes = run;
  config.repeated_bytes = repeated_bytes(normal);
  config.chunk_bytes =
      chunk_of(run, config.repeated_bytes > 0 ? longest_repeated : longest_chunk, cpu);
  config.outer_rank = normal.rank() - (run_is_a_mode(normal) ? 1 : 0);
  config.stores = stores_for(normal, cpu);
  if (run >= long_enough || config.chunk_bytes < run || config.outer_rank == 0)
    return add_with_stores(config, normal, cpu, add);
  RowsConfig along = config;
  choose_box(config, normal, cpu);
  add_with_stores(config, normal, cpu, add);
  if (fits_l2(normal, cpu)) return;
  // Reads may be as fast in the order of the destination.
  take_in_destination(along, normal, cpu, long_enough, longest_chunk);
  if (along.blocks != config.blocks) add_with_stores(along, normal, cpu, add);
}

double Family::cost_ns(const RowsConfig& config, const Problem& normal, const CpuInfo& cpu,
                       const Costs& c, int dst_phase) {
  const auto bytes = static_cast<double>(normal.bytes());
  const double run = static_cast<double>(std::max<std::int64_t>(config.run_bytes, 1));
  const double rows = bytes / run;
  const bool joined =
      config.outer_rank > 0 && normal.modes[config.outer_rank - 1].dst_stride == config.run_bytes;
  const double group =
      config.outer_rank > 0 ? static_cast<double>(config.block_of(config.outer_rank - 1)) : 1.0;
  double ns = rows * row_cost_ns(config, normal, cpu, c) + rows / group * c.group_ns;
  if (!fits_l2(normal, cpu) && run < static_cast<double>(long_enough)) {
    const double source = side_by_side(config, normal, &Mode::src_stride, config.source_bytes());
    const double destination = side_by_side(config, normal, &Mode::dst_stride, config.run_bytes);
    ns += (first_reads(normal) / source + 1 / destination) * bytes * c.end_ns;
  }
  // Short rows that stand alone in the destination are stored through the caches, whatever was
  // asked for, unless they repeat an element.
  const bool written_alone =
      !joined && config.run_bytes < shortest_streamed && config.repeated_bytes == 0;
  if (past_caches(config.stores) && !written_alone) {
    const Stretch stretch = stretch_of(config, normal, cpu, dst_phase);
    if (stretch.has_partial_lines) {
      ns += bytes / static_cast<double>(stretch.bytes) * c.around_end_ns;
    }
  }
  return ns;
}

std::string Family::describe(const RowsConfig& config, const Problem&) {
  std::string text = fmt::format("rows of {} B", config.run_bytes);
  if (config.repeated_bytes > 0) text += fmt::format(" that repeat {} B", config.repeated_bytes);
  std::string box;
  for (const RowsConfig::Block& block : config.blocks) {
    if (block.rows > 1) box += fmt::format("{}{}", box.empty() ? "" : " x ", block.rows);
  }
  if (!box.empty()) text += ", boxes of " + box;
  if (config.chunk_bytes < config.run_bytes) {
    text += fmt::format(", {} B at a time", config.chunk_bytes);
  }
  if (config.staged) text += ", through a stage";
  if (config.fetched || past_caches(config.stores)) text += ", fetched ahead";
  return text + (past_caches(config.stores) ? ", stored around the caches" : "");
}

}  // namespace cornerturn::plan::rows
