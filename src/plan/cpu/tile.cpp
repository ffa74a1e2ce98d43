#include "plan/cpu/tile.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "core/checked.hpp"
#include "plan/cpu/convert.hpp"
#include "plan/cpu/cpu_info.hpp"

namespace cornerturn::plan {

TileSplit split_tile(const Problem& normal, int run_modes) {
  TileSplit split;
  const int rest = normal.rank() - run_modes;
  for (int i = rest; i < normal.rank(); ++i) split.run *= normal.modes[i].extent;
  split.run_modes = run_modes;
  // Batch: by source stride, so that the sweeps of neighbours lie near each other.
  for (int i = 0; i < rest; ++i) {
    const std::int64_t stride = std::abs(normal.modes[i].src_stride);
    int k = split.batch_modes++;
    for (; k > 0; --k) {
      const std::uint8_t before = split.batch[static_cast<std::size_t>(k - 1)];
      if (std::abs(normal.modes[before].src_stride) < stride) break;
      split.batch[static_cast<std::size_t>(k)] = before;
    }
    split.batch[static_cast<std::size_t>(k)] = static_cast<std::uint8_t>(i);
  }
  // Chain: modes of the batch that continue each other, from the source's fastest mode on.
  std::int64_t next = normal.src_type.size();
  int kept = 0;
  for (int k = 0; k < split.batch_modes; ++k) {
    const std::uint8_t i = split.batch[static_cast<std::size_t>(k)];
    const Mode& mode = normal.modes[i];
    if (std::abs(mode.src_stride) == next) {
      split.chain[static_cast<std::size_t>(split.chain_modes++)] = i;
      split.columns *= mode.extent;
      next *= mode.extent;
    } else {
      split.batch[static_cast<std::size_t>(kept++)] = i;
    }
  }
  split.batch_modes = kept;
  return split;
}

namespace tile {
namespace {

constexpr std::int64_t line = 64;
constexpr std::int64_t unit_bytes = 16;  // the narrowest source run that the kernel takes

// In elements as in bytes where values are converted: rows become vectors.
bool has_unit(const TileSplit& split, const Problem& normal) {
  const std::int64_t width = normal.converts() ? 1 : normal.dst_type.size();
  return split.chain_modes > 0 && split.columns * width >= unit_bytes;
}

// A block of source rows is read 16 bytes at a time: its lines must stay in the first-level cache
// (8 ways) until they are used up. Do so many rows of a block fall into one set that they cannot?
bool rows_collide(const Problem& normal, int run_modes, const CpuInfo& cpu) {
  const std::int64_t way = cpu.l1_bytes / 8;
  const std::int64_t rows = line / normal.dst_type.size();
  int together = 0;
  for (std::int64_t i = 0; i < rows; ++i) {
    std::int64_t rest = i;
    std::int64_t at = 0;
    for (int k = 1; k <= run_modes && rest > 0; ++k) {
      const Mode& mode = normal.modes[normal.rank() - k];
      at += rest % mode.extent * std::abs(mode.src_stride) % way;
      rest /= mode.extent;
    }
    if (rest > 0) break;  // the run ends here
    at %= way;
    together += at < line || at > way - line;
  }
  return together >= 8;
}

// So many destination modes, from the fastest on, can form the run.
int most_run_modes(const Problem& normal) {
  int most = 0;
  for (int modes = 1; modes < normal.rank(); ++modes) {
    const Mode& mode = normal.modes[normal.rank() - modes];
    if (modes > 1) {
      const Mode& inner = normal.modes[normal.rank() - modes + 1];
      if (!is_product(mode.dst_stride, inner.dst_stride, inner.extent)) break;
    }
    if (!has_unit(split_tile(normal, modes), normal)) break;
    most = modes;
  }
  return most;
}

// Do destination rows start inside a line?
bool rows_misaligned(const Problem& normal, int run_modes) {
  for (int i = 0; i < normal.rank() - run_modes; ++i) {
    if (normal.modes[i].dst_stride % line != 0) return true;
  }
  return false;
}

// Rows are converted as they are copied. `config` counts in elements of the wider type; what it
// says is in bytes of the destination.
void fit_to_conversion(TileConfig& config, const Problem& normal) {
  const std::int64_t src_width = normal.src_type.size();
  const std::int64_t dst_width = normal.dst_type.size();
  const std::int64_t wide = std::max(src_width, dst_width);
  const std::int64_t rows = config.strip_bytes / wide;
  const std::int64_t columns = std::max(config.window_bytes / wide, line / src_width);
  config.strip_bytes =
      static_cast<int>(std::max(rows * dst_width, config.direct ? line : 8 * line));
  config.window_bytes = static_cast<int>(std::clamp(columns * dst_width, unit_bytes, 4 * line));
  config.copy_rows = true;
}

// Strips and windows through a stage, by the size of the wider element: policies, found by trying
// sizes on matrices of 1 to 8 bytes on a Zen 4 processor.
void size_staged(TileConfig& config, std::int64_t width, bool misaligned) {
  const bool collide = config.copy_rows;
  const bool narrow = width == 1 || (width == 2 && collide);
  config.strip_bytes = narrow ? 512 : 1024;
  config.window_bytes = narrow ? 64 : 128;
  if (collide && misaligned) {
    // Near a power of two: long visits make up for the lines that the caches lose.
    config.strip_bytes = 1024;
    config.window_bytes = width == 8 ? 128 : 256;
  }
}

// Strips and windows where lines go from the registers to memory.
void size_direct(TileConfig& config, std::int64_t width) {
  const bool narrow = config.copy_rows || width <= 2;
  config.strip_bytes = narrow ? 256 : 512;
  config.window_bytes = narrow ? 64 : 128;
}

// Processors without vectors as long as a line, by problems of seeds 4441 to 4443, 4451 and 4452 on
// a Zen 3: rows of the source are read faster by turns of one line or of four than of two, and the
// processor itself fetches what follows in up to 16 rows. Lines are written as fast alone as
// together, but those that lie multiples of 2 KiB apart take a third longer than through a stage.
// Where rows of the source collide, too, by matrices of 13 to 134 MB: strips of 1 KiB by windows of
// 256 B through a stage take 0.6 to 0.9 of the time of others, and 0.5 to 0.9 of that without one.
constexpr int rows_fetched_unasked = 16;
constexpr std::int64_t crowded_pitch = 2048;

void size_staged_of_short_vectors(TileConfig& config, std::int64_t width) {
  if (config.copy_rows) config.strip_bytes = 1024;
  config.window_bytes = config.copy_rows || width > 4 ? 256 : 64;
}
void size_direct_of_short_vectors(TileConfig& config, std::int64_t width, bool few_rows) {
  const std::int64_t few_bytes = std::max(line, rows_fetched_unasked * width);
  config.strip_bytes = static_cast<int>(few_rows ? few_bytes : 16 * line);
  config.window_bytes = few_rows && width <= 4 ? 128 : 256;
}

// Is the run so short that it is written together with its neighbours, and can it be?
bool is_packed(const TileSplit& split, const Problem& normal) {
  constexpr std::int64_t packed_run = 10 * line;
  const std::int64_t run_bytes = split.run * normal.dst_type.size();
  const Mode& chain = normal.modes[split.chain[0]];
  return run_bytes <= packed_run && chain.dst_stride == run_bytes && chain.src_stride > 0;
}

// Can lines go from the registers to memory?
bool can_be_direct(const TileConfig& config, const TileSplit& split, const Problem& normal) {
  return past_caches(config.stores) && split.run * normal.dst_type.size() >= 2 * line &&
         !rows_misaligned(normal, split.run_modes);
}

TileConfig config_of(const TileSplit& split, const Problem& normal, const CpuInfo& cpu) {
  const std::int64_t dst_width = normal.dst_type.size();
  const std::int64_t width = std::max<std::int64_t>(normal.src_type.size(), dst_width);
  const std::int64_t chain_bytes = split.columns * dst_width;
  const bool lines = vector_bytes(cpu) == line;
  TileConfig config;
  config.run_modes = split.run_modes;
  // Streaming saves reading the destination's lines: it pays as soon as they are not cached.
  config.stores = fits_l2(normal, cpu) ? Stores::regular : Stores::past_caches;
  config.copy_rows = rows_collide(normal, split.run_modes, cpu);
  // What small problems read is in the cache, or there soon without being asked for.
  if (fits_l2(normal, cpu) && normal.bytes() <= cpu.l1_bytes * 4) config.prefetch_bytes = 0;
  config.direct = lines && can_be_direct(config, split, normal);
  if (config.direct) {
    size_direct(config, width);
  } else {
    size_staged(config, width, rows_misaligned(normal, split.run_modes));
    if (!lines && past_caches(config.stores) && !normal.converts())
      size_staged_of_short_vectors(config, width);
    // A source run a little longer than a line is done at once.
    if (chain_bytes > line && chain_bytes < 2 * line) config.window_bytes = 2 * line;
    config.packed = is_packed(split, normal);
  }
  if (normal.converts()) fit_to_conversion(config, normal);
  return config;
}

}  // namespace

TileConfig at_phase(const TileConfig& config, const Problem& normal, std::int64_t phase) {
  if (!config.direct || phase == 0 || normal.converts()) return config;
  const TileSplit split = split_tile(normal, config.run_modes);
  if (split.run * normal.dst_type.size() > short_run) return config;
  TileConfig staged = config;
  staged.direct = false;
  staged.strip_bytes = short_run;
  staged.packed = is_packed(split, normal);
  return staged;
}

const char* Family::why_not(const Problem& normal, const CpuInfo& cpu) {
  const std::int64_t width = normal.dst_type.size();
  if (normal.rank() < 2) return "it has fewer than two modes";
  if (normal.converts()) {
    if (!convert::is_straight(normal) || normal.swaps())
      return "it takes no more than a change of type, from f32, to it or by way of it";
    if (normal.src_type.size() > normal.dst_type.size()) return "values become narrower";
    if (fits_l2(normal, cpu)) return "values are converted, and stay in the cache";
  }
  if (normal.modes.back().extent == 0) return "it is empty";
  if (normal.modes.back().dst_stride != width) return "its destination has no contiguous run";
  if (!has_unit(split_tile(normal, 1), normal)) {
    return "its source has no contiguous run of 16 bytes in another mode than the destination's";
  }
  return nullptr;
}

// Configurations of so many destination runs at most are offered for one problem.
constexpr int max_configs = 4;

void Family::configure(const Problem& normal, const CpuInfo& cpu, const Add<TileConfig>& add) {
  int offered = 0;
  const int most = most_run_modes(normal);
  for (int modes = 1; modes <= most && offered < max_configs; ++modes) {
    const TileSplit split = split_tile(normal, modes);
    // Where there are many small modes, those that make short runs are left out.
    if (most - modes >= max_configs && split.run * normal.dst_type.size() < 4 * line) continue;
    TileConfig config = config_of(split, normal, cpu);
    add(config);
    ++offered;
    // Where a line takes several vectors, it need not be faster without a stage.
    const bool crowded = normal.modes[split.chain[0]].dst_stride % crowded_pitch == 0;
    if (config.direct || crowded || config.copy_rows || normal.converts() ||
        !can_be_direct(config, split, normal))
      continue;
    config.direct = true;
    config.packed = false;
    for (const bool few_rows : {true, false}) {
      size_direct_of_short_vectors(config, normal.dst_type.size(), few_rows);
      add(config);
    }
  }
}

namespace {

// How a tile is written past the caches.
struct Writes {
  double stretch;     // bytes at once
  double run;         // bytes whose ends may lie within lines
  bool ends = false;  // they do
};

Writes writes_of(const TileConfig& config, const Problem& normal, const TileSplit& split,
                 int dst_phase) {
  const std::int64_t width = normal.dst_type.size();
  const std::int64_t run = split.run * width;
  const bool misaligned = rows_misaligned(normal, config.run_modes) || dst_phase != 0;
  if (!config.packed) {
    const bool ends = config.direct ? dst_phase != 0 || run % line != 0 : misaligned;
    const auto whole = static_cast<double>(run);
    return {std::min<double>(whole, config.strip_bytes), whole, ends};
  }
  const std::int64_t in_a_window =
      std::min<std::int64_t>(config.window_bytes / width, split.columns);
  const std::int64_t stretch =
      run * std::min(normal.modes[split.chain[0]].extent, std::max<std::int64_t>(in_a_window, 1));
  const auto bytes = static_cast<double>(stretch);
  return {bytes, bytes, misaligned || stretch % line != 0};
}

}  // namespace

double Family::cost_ns(const TileConfig& planned, const Problem& normal, const CpuInfo&,
                       const Costs& c, int dst_phase) {
  const TileConfig config = at_phase(planned, normal, dst_phase);
  const std::int64_t width = normal.dst_type.size();
  const TileSplit split = split_tile(normal, config.run_modes);
  const auto bytes = static_cast<double>(normal.bytes());
  const auto run = static_cast<double>(split.run * width);
  const auto chain = static_cast<double>(split.columns * width);
  const double strip = std::min<double>(run, config.strip_bytes);
  const double padded_run = std::ceil(run / line) * line;
  const double padded_chain = std::ceil(chain / unit_bytes) * unit_bytes;
  // Work in registers covers whole lines by whole units.
  const double work_line_ns = (config.direct ? c.direct_line_ns : c.staged_line_ns) +
                              (config.copy_rows ? double{c.copied_line_ns} : 0.0);
  const double work = work_line_ns * padded_run / run * padded_chain / chain / line;
  double read = c.read_line_ns / line + c.source_run_ns / chain;
  if (normal.converts())
    read *= static_cast<double>(normal.src_type.size()) / static_cast<double>(width);
  double write = c.cached_line_ns / line;
  double joined = 0;
  if (past_caches(config.stores)) {
    const Writes writes = writes_of(config, normal, split, dst_phase);
    write = c.write_line_ns / line + c.destination_run_ns / writes.stretch;
    if (writes.ends) {
      const bool one_end = config.direct && dst_phase == 0;
      write += (one_end ? 1 : 2) * c.partial_line_ns / writes.run;
    }
    // A strip is shifted back to where lines begin: rows before it are read again.
    const bool shifted = writes.ends && !config.direct && !config.packed;
    if (shifted && run > strip) read *= 1 + line / strip;
    if (config.packed) joined = bytes / run * c.packed_run_ns;
  } else if (bytes < c.cached_bytes) {
    read = c.cached_line_ns / line;
  }
  const double pieces = bytes / (strip * chain);
  return c.start_ns + joined + pieces * c.piece_ns +
         bytes * (work + first_reads(normal) * read + write);
}

std::string Family::describe(const TileConfig& config, const Problem& normal) {
  const TileSplit split = split_tile(normal, config.run_modes);
  return fmt::format(
      "runs of {} and {} elements in strips of {} B by windows of {} B{}{}, {} stores", split.run,
      split.columns, config.strip_bytes, config.window_bytes,
      normal.converts()  ? ", rows converted first"
      : config.copy_rows ? ", rows copied first"
                         : "",
      config.packed   ? ", packed"
      : config.direct ? ", lines from registers"
                      : "",
      past_caches(config.stores) ? "non-temporal" : "regular");
}

}  // namespace tile
}  // namespace cornerturn::plan
