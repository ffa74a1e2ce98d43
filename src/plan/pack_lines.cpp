#include "plan/pack_lines.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <numeric>

#include "plan/planner.hpp"

namespace cornerturn::plan::pack_lines {
namespace {

constexpr std::int64_t line_bytes = 64;

// The mode to walk: the longest of those under which the destination is contiguous, so long as the
// atom stays small.
int walk_of(const Problem& normal) {
  int walk = -1;
  std::int64_t contiguous = normal.dst_type.size();
  for (int i = normal.rank(); i-- > 0;) {
    const Mode& mode = normal.modes[i];
    if (mode.dst_stride != contiguous || contiguous > max_atom_bytes) break;
    if (walk < 0 || mode.extent >= normal.modes[walk].extent) walk = i;
    contiguous *= mode.extent;
  }
  return walk;
}

// Vectors that a line of the destination comes from: those of the line that starts with an atom.
int steps_of(const Problem& normal, int walk) {
  const std::int64_t width = normal.dst_type.size();
  std::array<std::int64_t, line_bytes> from;
  const int elements = static_cast<int>(line_bytes / width);
  std::int64_t index[ModeList::capacity] = {};
  std::int64_t offset = 0;
  for (int n = 0; n < elements; ++n) {
    from[static_cast<std::size_t>(n)] = offset;
    for (int i = normal.rank(); i-- > walk;) {
      const Mode& mode = normal.modes[i];
      offset += mode.src_stride;
      if (++index[i] < mode.extent || i == walk) break;
      offset -= index[i] * mode.src_stride;
      index[i] = 0;
    }
  }
  std::sort(from.begin(), from.begin() + elements);
  int steps = 0;
  std::int64_t covered = 0;
  for (int n = 0; n < elements; ++n) {
    const std::int64_t at = from[static_cast<std::size_t>(n)];
    if (steps > 0 && at + width <= covered) continue;
    covered = at + line_bytes;
    ++steps;
  }
  return steps;
}

std::int64_t lines_of(const Problem& normal, int walk) {
  const std::int64_t atom = normal.modes[walk].dst_stride;
  return atom / std::gcd(atom, line_bytes);
}

// Bytes of the source read side by side by one piece of work.
std::int64_t src_run_of(const PackLinesConfig& config, const Problem& normal) {
  std::int64_t run = normal.dst_type.size();
  for (bool grew = true; grew;) {
    grew = false;
    for (int i = 0; i < normal.rank(); ++i) {
      if (i < config.walk && (config.streams >> i & 1) == 0) continue;
      const Mode& mode = normal.modes[i];
      const std::int64_t stride = std::abs(mode.src_stride);
      const std::int64_t extent =
          i == config.walk ? std::min(config.chunk, mode.extent) : mode.extent;
      if (stride > run || stride * extent <= run) continue;
      run = stride * extent;
      grew = true;
    }
  }
  return run;
}

}  // namespace

const char* why_not(const Problem& normal, const CpuInfo&) {
  if (normal.rank() == 0 || normal.rank() > 64) return "it takes 1 to 64 modes";
  const int width = normal.dst_type.size();
  if (normal.modes.back().src_stride == width && normal.modes.back().dst_stride == width) {
    return "both sides share runs, which need no putting together";
  }
  const int walk = walk_of(normal);
  if (walk < 0) return "the destination's fastest mode has to be contiguous";
  const Mode& mode = normal.modes[walk];
  if (mode.extent * mode.dst_stride < 4 * line_bytes) {
    return "the destination's contiguous runs have to be some lines long";
  }
  if (lines_of(normal, walk) * steps_of(normal, walk) > max_steps) {
    return "the destination's pattern has to repeat after a few lines";
  }
  return nullptr;
}

PackLinesConfig configure(const Problem& normal, const CpuInfo& cpu) {
  PackLinesConfig config;
  config.walk = walk_of(normal);
  config.non_temporal = stores_bypass_cache(normal, cpu);
  const Mode& walk = normal.modes[config.walk];
  const std::int64_t src_bytes =
      std::max<std::int64_t>({std::abs(walk.src_stride), walk.dst_stride, 1});
  config.chunk = std::max<std::int64_t>(1, (16 << 10) / src_bytes);
  std::int64_t streams = 1;
  for (int i = config.walk; i-- > 0;) {
    const Mode& mode = normal.modes[i];
    if (streams * mode.extent > max_streams) continue;
    if (std::abs(mode.src_stride) * (mode.extent - 1) <
        config.chunk * std::abs(walk.src_stride) / 2) {
      config.streams |= std::uint64_t{1} << i;
      streams *= mode.extent;
    }
  }
  return config;
}

// A line costs its store and its steps; more where the source is read in short pieces. The recipe
// is made by the first of many calls.
double cost_ns(const PackLinesConfig& config, const Problem& normal, const CpuInfo& cpu) {
  constexpr double start_ns = 100, recipe_line_ns = 100;
  constexpr double line_ns = 2.0, step_ns = 0.7, missed_line_ns = 5.0;
  // In the caches: few steps are few streams, many jump from set to set.
  constexpr double cached_line_ns = 0.5, few_steps = 4, cached_step_ns = 0.3;
  constexpr double l1_far_step_ns = 1.3, l2_far_step_ns = 3.0;
  const double steps = steps_of(normal, config.walk);
  const auto src_run = static_cast<double>(src_run_of(config, normal));
  const bool long_run = src_run >= 4 * line_bytes;
  double per_line = line_ns + step_ns * steps;
  if (normal.bytes() <= cpu.l2_bytes) {
    const double far_step_ns = normal.bytes() <= cpu.l1_bytes ? l1_far_step_ns : l2_far_step_ns;
    per_line = cached_line_ns + (steps <= few_steps ? cached_step_ns : far_step_ns) * steps;
  } else if (src_run < line_bytes) {
    per_line += missed_line_ns * line_bytes / src_run;
  } else if (!long_run) {
    per_line += missed_line_ns / 2;
  }
  return start_ns + recipe_line_ns * static_cast<double>(lines_of(normal, config.walk)) +
         static_cast<double>(normal.bytes()) / line_bytes * per_line;
}

std::string describe(const PackLinesConfig& config, const Problem& normal) {
  return std::to_string(steps_of(normal, config.walk)) + " vectors a line along mode " +
         std::to_string(config.walk) + ", " + std::to_string(config.chunk) + " at a time" +
         (config.non_temporal ? ", non-temporal" : "");
}

}  // namespace cornerturn::plan::pack_lines
