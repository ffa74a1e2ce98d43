#include "plan/cpu/pack_lines.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <numeric>

#include "core/divide.hpp"
#include "plan/cpu/cpu_info.hpp"

namespace cornerturn::plan::pack_lines {
namespace {

constexpr std::int64_t line_bytes = 64;

// Policies. Lines of so few steps read few streams, which do not share sets of a cache. The source
// of a chunk fills half of the first-level cache. The destination's runs have to be some lines
// long.
constexpr double few_steps = 4;
constexpr std::int64_t chunk_bytes = 16 << 10;
constexpr std::int64_t some_lines = 4 * line_bytes;

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

// Vectors that a line of `line` bytes of the destination comes from: the line that starts with
// element `first` of the atoms.
int steps_of(const Problem& normal, int walk, std::int64_t line = line_bytes,
             std::int64_t first = 0) {
  const std::int64_t width = normal.dst_type.size();
  std::array<std::int64_t, line_bytes> from;
  const int elements = static_cast<int>(line / width);
  std::int64_t index[ModeList::capacity] = {};
  std::int64_t offset = 0;
  for (int i = normal.rank(); i-- > walk && first > 0;) {
    const Mode& mode = normal.modes[i];
    index[i] = i == walk ? first : first % mode.extent;
    offset += index[i] * mode.src_stride;
    first /= mode.extent;
  }
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
    covered = at + line;
    ++steps;
  }
  return steps;
}

// After so many lines the pattern repeats.
std::int64_t lines_of(const Problem& normal, int walk, std::int64_t line = line_bytes) {
  const std::int64_t atom = normal.modes[walk].dst_stride;
  return atom / std::gcd(atom, line);
}

// The most vectors that a line comes from, of some that are spread over the pattern. The kernel
// takes two for each at least.
std::int64_t most_steps_of(const Problem& normal, int walk, std::int64_t line) {
  constexpr std::int64_t looked_at = 16;
  const std::int64_t lines = lines_of(normal, walk, line);
  const std::int64_t elements = line / normal.dst_type.size();
  const std::int64_t count = std::min(lines, looked_at);
  int most = 2;
  for (std::int64_t k = 0; k < count; ++k) {
    most = std::max(most, steps_of(normal, walk, line, k * lines / count * elements));
  }
  // What was not looked at may take another one, and then no recipe fits.
  return lines > looked_at ? most + 1 : most;
}

// Bytes that one step of a recipe permutes.
std::int64_t vector_of(const CpuInfo& cpu) {
  return cpu.isa == "AVX3_DL" ? 64 : 16;
}

bool is_stream(const PackLinesConfig& config, int mode) {
  return (config.streams >> mode & 1) != 0;
}

// The runs of atoms that are written, and what making the recipes for them depends on.
struct Runs {
  std::int64_t streams = 1;  // runs written alternately
  std::int64_t batches = 1;  // so many times
  // Do all runs of a stream begin at the same place of a line, on both sides?
  bool alike = true;
  std::int64_t unit = 0;  // bytes: a divisor of the distances of runs in the destination
  double chunks = 1;      // of a run

  double count() const { return static_cast<double>(streams) * static_cast<double>(batches); }
};

Runs runs_of(const PackLinesConfig& config, const Problem& normal) {
  Runs runs;
  runs.chunks = static_cast<double>(ceil_div(normal.modes[config.walk].extent, config.chunk));
  for (int i = 0; i < config.walk; ++i) {
    const Mode& mode = normal.modes[i];
    runs.unit = std::gcd(runs.unit, mode.dst_stride);
    if (is_stream(config, i)) {
      runs.streams *= mode.extent;
    } else {
      runs.batches *= mode.extent;
      runs.alike =
          runs.alike && mode.src_stride % line_bytes == 0 && mode.dst_stride % line_bytes == 0;
    }
  }
  return runs;
}

// Aligned loads are faster, but recipes for them hold for one place of the source within a line.
// They are made anew for each run that begins in another one, so runs have to be long in
// comparison.
bool aligns(const PackLinesConfig& config, const Problem& normal, const CpuInfo& cpu) {
  constexpr std::int64_t worth_a_line = 256;  // lines of a run, for each line of a recipe
  const Mode& walk = normal.modes[config.walk];
  const Runs runs = runs_of(config, normal);
  const std::int64_t lines = lines_of(normal, config.walk, vector_of(cpu));
  const std::int64_t steps = steps_of(normal, config.walk, vector_of(cpu));
  // Recipes of several streams have to stay in the first-level cache together.
  const bool few =
      runs.streams == 1 || (runs.streams <= max_recipes && walk.dst_stride <= line_bytes);
  if (!few || runs.streams * lines * (steps + steps / 4 + 1) > max_steps) return false;
  const std::int64_t run_lines = walk.extent * walk.dst_stride / line_bytes;
  return runs.alike || run_lines >= worth_a_line * lines;
}

// How often a recipe is made again. Aligned ones hold for one place of the source's line, others
// for one place of a line within an atom: where there are more of these places than recipes are
// kept, every run needs another one than the run before, and runs that are written alternately need
// theirs anew every time.
double remakes_of(const PackLinesConfig& config, const Problem& normal, const Runs& runs,
                  const CpuInfo& cpu) {
  if (config.aligned) return runs.alike || runs.batches == 1 ? 0 : runs.count();
  const std::int64_t vector = vector_of(cpu);
  const std::int64_t lines = lines_of(normal, config.walk, vector);
  const std::int64_t steps = steps_of(normal, config.walk, vector);
  const std::int64_t common = std::gcd(normal.modes[config.walk].dst_stride, vector);
  const std::int64_t places = common / std::gcd(common, runs.unit);
  const std::int64_t kept =
      std::clamp<std::int64_t>(max_steps / (lines * (steps + 1)), 1, max_recipes);
  if (places <= kept) return 0;
  return runs.streams == 1 ? runs.count() : runs.count() * runs.chunks;
}

}  // namespace

const char* Family::why_not(const Problem& normal, const CpuInfo& cpu) {
  if (normal.rank() == 0 || normal.rank() > 64) return "it takes 1 to 64 modes";
  const int width = normal.dst_type.size();
  if (normal.modes.back().src_stride == width && normal.modes.back().dst_stride == width) {
    return "both sides share runs, which need no putting together";
  }
  const int walk = walk_of(normal);
  if (walk < 0) return "the destination's fastest mode has to be contiguous";
  const Mode& mode = normal.modes[walk];
  if (mode.extent * mode.dst_stride < some_lines) {
    return "the destination's contiguous runs have to be some lines long";
  }
  const std::int64_t vector = vector_of(cpu);
  if (lines_of(normal, walk, vector) * most_steps_of(normal, walk, vector) > max_steps) {
    return "the destination's pattern has to repeat after a few lines";
  }
  return nullptr;
}

void Family::configure(const Problem& normal, const CpuInfo& cpu, const Add<PackLinesConfig>& add) {
  PackLinesConfig config;
  config.walk = walk_of(normal);
  config.stores = stores_for(normal, cpu);
  const Mode& walk = normal.modes[config.walk];
  const std::int64_t src_bytes =
      std::max<std::int64_t>({std::abs(walk.src_stride), walk.dst_stride, 1});
  config.chunk = std::max<std::int64_t>(1, chunk_bytes / src_bytes);
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
  config.aligned = aligns(config, normal, cpu);
  add(config);
  if (!either_stores(normal, cpu)) return;
  config.stores = Stores::past_caches;
  add(config);
}

namespace {

// How crowded the sets of the first-level cache are with what a chunk reads: of its lines, the part
// for which a set has no room.
double crowded_part(const PackLinesConfig& config, const Problem& normal) {
  constexpr std::int64_t sets = 64;
  constexpr double room = 8;  // lines of a set
  struct Step {
    std::int64_t stride, extent;
  };
  std::array<Step, ModeList::capacity> steps;
  int count = 0;
  for (int i = 0; i < normal.rank(); ++i) {
    const Mode& mode = normal.modes[i];
    if ((i < config.walk && !is_stream(config, i)) || mode.src_stride == 0) continue;
    const std::int64_t extent =
        i == config.walk ? std::min(config.chunk, mode.extent) : mode.extent;
    if (extent > 1) steps[static_cast<std::size_t>(count++)] = {std::abs(mode.src_stride), extent};
  }
  std::sort(steps.begin(), steps.begin() + count,
            [](const Step& a, const Step& b) { return a.stride < b.stride; });
  std::int64_t run = normal.dst_type.size();
  int k = 0;
  for (; k < count; ++k) {
    const Step& step = steps[static_cast<std::size_t>(k)];
    if (step.stride > run + std::min(run, line_bytes)) break;
    run += step.stride * (step.extent - 1);
  }
  double lines = 1 + static_cast<double>(run - 1) / line_bytes;
  double taken = std::min<double>(lines, sets);
  for (; k < count; ++k) {
    const Step& step = steps[static_cast<std::size_t>(k)];
    const std::int64_t spacing = std::max(step.stride & -step.stride, line_bytes);
    const std::int64_t in_other_sets = std::max<std::int64_t>(1, sets * line_bytes / spacing);
    lines *= static_cast<double>(step.extent);
    taken =
        std::min<double>(sets, taken * static_cast<double>(std::min(step.extent, in_other_sets)));
  }
  const double in_a_set = lines / taken;
  return in_a_set > room ? 1 - room / in_a_set : 0;
}

// What a line costs from memory to memory.
double uncached_line_ns(const PackLinesConfig& config, const Problem& normal, const Costs& c,
                        double steps) {
  double step_ns = c.step_ns * (1 + crowded_part(config, normal));
  if (lines_of(normal, config.walk) > 1) step_ns += c.index_ns;
  return (past_caches(config.stores) ? c.around_line_ns : c.line_ns) + steps * step_ns;
}

// Does a run of the destination begin or end within a line?
bool has_partial_lines(const PackLinesConfig& config, const Problem& normal, int dst_phase) {
  const Mode& walk = normal.modes[config.walk];
  bool partial = walk.extent * walk.dst_stride % line_bytes != 0 || dst_phase != 0;
  for (int i = 0; i < config.walk; ++i) partial |= normal.modes[i].dst_stride % line_bytes != 0;
  return partial;
}

}  // namespace

// A line costs its store and its steps. Each run costs its ends, twice as much where parts of lines
// are stored around the caches, and as much each time that it is taken up for a chunk. The recipe
// is made by the first of many calls; some problems need others again and again.
double Family::cost_ns(const PackLinesConfig& config, const Problem& normal, const CpuInfo& cpu,
                       const Costs& c, int dst_phase) {
  const double steps = steps_of(normal, config.walk);
  const double line_ns =
      fits_l2(normal, cpu)
          ? c.cached_line_ns + (steps <= few_steps ? c.cached_step_ns : c.far_step_ns) * steps
          : uncached_line_ns(config, normal, c, steps);
  const Runs runs = runs_of(config, normal);
  const auto recipe_lines = static_cast<double>(lines_of(normal, config.walk));
  const double recipes = 1 + remakes_of(config, normal, runs, cpu);
  const bool partial = past_caches(config.stores) && has_partial_lines(config, normal, dst_phase);
  return recipes * recipe_lines * c.recipe_line_ns +
         runs.count() * (runs.chunks + (partial ? 2 : 1)) * c.run_ns +
         static_cast<double>(normal.bytes()) / line_bytes * line_ns;
}

std::string Family::describe(const PackLinesConfig& config, const Problem& normal) {
  return std::to_string(steps_of(normal, config.walk)) + " vectors a line along mode " +
         std::to_string(config.walk) + ", " + std::to_string(config.chunk) + " at a time" +
         (config.aligned ? ", aligned loads" : "") +
         (past_caches(config.stores) ? ", non-temporal" : "");
}

}  // namespace cornerturn::plan::pack_lines
