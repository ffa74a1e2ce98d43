#include "plan/gpu/cycles.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <memory>

#include "core/divide.hpp"
#include "core/in_place.hpp"
#include "plan/gpu/transposition.hpp"

namespace cornerturn::plan::gpu::cycles {
namespace {

using kernels::CyclesArgs;

constexpr std::int64_t most_numbers = std::numeric_limits<std::int32_t>::max();
constexpr std::int64_t most_cuts = 1 << 20;  // of all matrices
constexpr std::uint32_t least_words_by_block = 32;
constexpr std::uint32_t most_cuts_by_block = 127;
constexpr double longest_of_mean = 8;  // how much longer than others the longest segment is

std::int64_t words_of(const Transposition& t, const Problem& normal) {
  return t.element / normal.src_type.size();
}

std::int64_t chunks_of(const Transposition& t, const Problem& normal) {
  return ceil_div(words_of(t, normal), 32);
}

// A warp moves the cycles that it finds one after the other: of long runs, it looks at few.
std::int64_t rounds_of(const Transposition& t, const Problem& normal) {
  if (chunks_of(t, normal) > 1) return 1;
  return std::clamp<std::int64_t>(t.rows * t.columns / 32, 1, kernels::most_cycle_rounds);
}

std::int64_t ranges_of(const Transposition& t, const Problem& normal) {
  return ceil_div(t.rows * t.columns, 32 * rounds_of(t, normal));
}

}  // namespace

const char* Family::why_not(const Problem& normal, const DeviceInfo&) {
  const auto t = transposition_of(normal);
  if (!t) return "it does not transpose matrices that lie without gaps";
  if (t->rows * t->columns >= most_numbers) return "2^31 runs or more";
  const std::int64_t words = words_of(*t, normal);
  if (words >= most_numbers) return "2^31 words a run or more";
  const double warps = static_cast<double>(t->matrices()) *
                       static_cast<double>(chunks_of(*t, normal)) *
                       static_cast<double>(ranges_of(*t, normal));
  if (warps >= static_cast<double>(most_numbers)) return "2^31 warps or more";
  return nullptr;
}

// With as many cuts as the usual workspace has room for, and with fewer, down to none.
void Family::configure(const Problem& normal, const Alignment&, const DeviceInfo&,
                       const Add<Config>& add) {
  const Transposition t = *transposition_of(normal);
  const std::int64_t count = t.rows * t.columns;
  const std::int64_t chunks = chunks_of(t, normal);
  std::uint32_t before = 0;
  for (const std::int64_t share : {1, 4, 16, 64}) {
    const std::int64_t bytes = in_place::usual_workspace(normal.bytes()) / share;
    const std::int64_t all = std::min({bytes / t.element, most_cuts, most_numbers / 64 / chunks});
    const in_place::Cuts cuts(count, all / t.matrices());
    if (cuts.size() == 0 || cuts.size() == before) continue;
    before = static_cast<std::uint32_t>(cuts.size());
    add({before, static_cast<std::uint32_t>(cuts.spacing()),
         cuts.size() * t.matrices() * t.element});
  }
  add({});
}

Demand Family::demand(const Config& config, const Problem& normal, const Model& model,
                      const Costs& c) {
  const Transposition t = *transposition_of(normal);
  const auto bytes = static_cast<double>(normal.bytes());
  const auto runs = static_cast<double>(t.rows) * static_cast<double>(t.columns);
  const double segment =
      config.cuts > 0 ? longest_of_mean * static_cast<double>(config.spacing) : runs;
  Demand demand;
  demand.blocks = 1;
  demand.resident = 1;
  demand.block_seconds = std::min(segment, runs) * c.step;
  demand.instructions =
      bytes / normal.src_type.size() * c.word + runs * static_cast<double>(t.matrices()) * c.leader;
  const auto saved = static_cast<double>(config.workspace);
  // Runs begin anywhere: at each end some of a burst is moved in vain.
  const MovedRuns moved{static_cast<double>(t.element), 16};
  demand.src_bytes = src_moved(model, moved) + saved;
  demand.dst_bytes = dst_moved(model, moved) + saved;
  return demand;
}

std::string Family::describe(const Config& config, const Problem& normal) {
  const Transposition t = *transposition_of(normal);
  return std::to_string(t.rows) + " x " + std::to_string(t.columns) + " runs of " +
         std::to_string(t.element) + " bytes, " + std::to_string(config.cuts) + " cuts, " +
         std::to_string(normal.src_type.size()) + " B at a time";
}

std::string Family::details(const Config& config) {
  return "traffic     every byte is read and written once, and every run that is saved twice\n"
         "workspace   " +
         (config.workspace == 0 ? "none" : std::to_string(config.workspace) + " B") + "\n";
}

Launchable<CyclesArgs> Family::prepare(const Config& config, const Problem& normal) {
  const Transposition t = *transposition_of(normal);
  const auto small = [](std::int64_t n) { return static_cast<std::uint32_t>(n); };
  CyclesArgs args;
  args.word_bytes = normal.src_type.size();
  args.run_bytes = t.element;
  args.words = small(words_of(t, normal));
  args.lanes = std::min(32U, std::bit_ceil(args.words));
  args.chunks = FastDivide(small(chunks_of(t, normal)));
  args.columns = small(t.columns);
  args.rows = FastDivide(small(t.rows));
  args.count = small(t.rows * t.columns);
  args.has_cuts = config.cuts > 0;
  if (args.has_cuts) args.spacing = FastDivide(config.spacing);
  args.cuts = FastDivide(std::max(config.cuts, 1U));
  args.walkers = small(std::int64_t{config.cuts} * t.matrices() * args.chunks.divisor);
  const std::int64_t of_block = kernels::cycles_threads / args.lanes;
  const std::uint32_t save_blocks = small(ceil_div(args.walkers, of_block));
  args.by_block = args.has_cuts && config.cuts * t.matrices() <= most_cuts_by_block &&
                  args.words >= least_words_by_block;
  args.segment_blocks = args.by_block ? args.walkers : save_blocks;
  if (args.by_block) {
    args.last = FastDivide64(args.count - 1);
    args.power_32 = 1;
    for (int i = 0; i < 32; ++i) args.power_32 = args.source_after(args.power_32, args.columns);
    args.power_64 = args.source_after(args.power_32, args.power_32);
  }
  args.rounds = small(rounds_of(t, normal));
  args.ranges = FastDivide(small(ranges_of(t, normal)));
  args.searches = small(ranges_of(t, normal) * t.matrices() * chunks_of(t, normal));
  args.matrices = t.places();
  const auto launch_of = [](std::uint32_t blocks) {
    return Launch{{blocks, 1, 1}, {kernels::cycles_threads, 1, 1}, 0};
  };
  const std::uint32_t search_blocks = small(ceil_div(args.searches, kernels::cycles_threads / 32));
  Launchable<CyclesArgs> walk{args, launch_of(args.segment_blocks + search_blocks)};
  if (!args.has_cuts) return walk;
  args.saves = true;
  return {args, launch_of(save_blocks), std::make_shared<const Launchable<CyclesArgs>>(walk)};
}

void Family::bind(CyclesArgs& args, const Problem& normal, const Buffers& buffers, int) {
  args.array = static_cast<std::byte*>(buffers.dst) + normal.dst_offset;
  args.saved = buffers.workspace;
}

}  // namespace cornerturn::plan::gpu::cycles
