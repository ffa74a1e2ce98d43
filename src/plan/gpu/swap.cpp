#include "plan/gpu/swap.hpp"

#include <algorithm>
#include <limits>

#include "core/divide.hpp"
#include "plan/swap_split.hpp"

namespace cornerturn::plan::gpu::swap {
namespace {

using kernels::SwapArgs;
using kernels::SwapWay;

constexpr std::int64_t most_blocks = std::numeric_limits<std::int32_t>::max();

std::int64_t words_of(const SwapSplit& split, const Problem& normal) {
  return split.element / normal.src_type.size();
}

std::int64_t matrices_of(const SwapSplit& split) {
  std::int64_t count = 1;
  for (const Mode& mode : split.batch) count *= mode.extent;
  return count;
}

// Parts of an element, each for blocks of its own.
std::int64_t words_of_part(std::int64_t words) {
  return std::min<std::int64_t>(words, kernels::SwapRuns<std::uint32_t>::most_words);
}

bool in_vectors(SwapWay way) {
  return way == SwapWay::vectors || way == SwapWay::wide;
}

// The side of a group of tiles: all of them where rows are whole vectors. Else neighbours share
// sectors, and the tiles of a group are about as many as the blocks that run at once; of such
// sides, the one by which fewest blocks are left without a pair of tiles.
std::uint32_t group_of(std::uint32_t tiles, SwapWay way) {
  constexpr std::uint32_t least = 12, most = 20;
  if (tiles <= most || in_vectors(way)) return tiles;
  const auto outside = [&](std::uint32_t side) { return (side - tiles % side) % side; };
  std::uint32_t best = most;
  for (std::uint32_t side = most; side >= least; --side) {
    if (outside(side) < outside(best)) best = side;
  }
  return best;
}

// Upper bounds of 64 bits, so that nothing overflows before it is refused.
double blocks_at_most(const SwapSplit& split, const Problem& normal) {
  constexpr double least_side = 16;
  constexpr double most_outside = 20;
  const double tiles = static_cast<double>(split.extent) / least_side + 1 + most_outside;
  const std::int64_t words = words_of(split, normal);
  return tiles * (tiles + 1) / 2 * static_cast<double>(matrices_of(split)) *
         static_cast<double>(ceil_div(words, words_of_part(words)));
}

// In a matrix that is far larger than the L2, rows of 128 bytes that lie apart are read and written
// more slowly than rows of 256, whose tiles take most of the shared memory. Measured at 1 GiB; of
// 64 matrices of 8 and 16 MiB narrow tiles reach 94 % of a copy and more.
bool are_wide_better(const SwapSplit& split, const DeviceInfo& device) {
  constexpr std::int64_t least_bytes = 32 << 20;
  if (split.element > 2 || split.extent * split.row_stride < least_bytes) return false;
  const std::int64_t shared = split.element == 1
                                  ? kernels::SwapTiles<std::uint8_t, true>::shared_bytes
                                  : kernels::SwapTiles<std::uint16_t, true>::shared_bytes;
  return device.shared_per_block >= shared;
}

SwapWay way_of(const SwapSplit& split, const Problem& normal, const Alignment& start,
               const DeviceInfo& device) {
  const std::int64_t element = split.element;
  if (words_of(split, normal) > 1 || split.column_stride != element) return SwapWay::words;
  bool aligned =
      start.dst % 16 == 0 && split.row_stride % 16 == 0 && split.extent * element % 16 == 0;
  for (const Mode& mode : split.batch) aligned = aligned && mode.dst_stride % 16 == 0;
  if (!aligned) return SwapWay::units;
  return are_wide_better(split, device) ? SwapWay::wide : SwapWay::vectors;
}

int bytes_at_once(SwapWay way, int word) {
  return in_vectors(way) ? 16 : way == SwapWay::units ? std::max(word, 4) : word;
}

}  // namespace

const char* Family::why_not(const Problem& normal, const DeviceInfo&) {
  const auto split = split_swap(normal);
  if (!split) return "it is not one exchange of two modes of the same extent";
  if (split->batch.size() > kernels::Walk::max_rank) return "more than 30 modes of matrices";
  if (blocks_at_most(*split, normal) >= static_cast<double>(most_blocks)) {
    return "2^31 pairs of tiles or more";
  }
  return nullptr;
}

void Family::configure(const Problem& normal, const Alignment& start, const DeviceInfo& device,
                       const Add<Config>& add) {
  add({way_of(*split_swap(normal), normal, start, device)});
}

Demand Family::demand(const Config& config, const Problem& normal, const Model& model,
                      const Costs& c) {
  Demand demand = demand_of_launch(prepare(config, normal), c.block, model);
  const double moves =
      static_cast<double>(normal.bytes()) / bytes_at_once(config.way, normal.src_type.size());
  demand.instructions = moves * (in_vectors(config.way)         ? c.vector
                                 : config.way == SwapWay::units ? c.unit
                                                                : c.word);
  return demand;
}

std::string Family::describe(const Config& config, const Problem& normal) {
  const Launchable<Args> ready = prepare(config, normal);
  std::string side;
  kernels::dispatch(ready.args, [&]<class Kernel>() { side = std::to_string(Kernel::side); });
  return "tiles of " + side + " x " + side + " elements of " +
         std::to_string(split_swap(normal)->element) + " bytes, " +
         std::to_string(bytes_at_once(config.way, normal.src_type.size())) + " B at a time";
}

std::string Family::details(const Config&) {
  return "traffic     every byte is read and written once\nworkspace   none\n";
}

Launchable<SwapArgs> Family::prepare(const Config& config, const Problem& normal) {
  const SwapSplit split = *split_swap(normal);
  SwapArgs args;
  args.row_stride = split.row_stride;
  args.column_stride = split.column_stride;
  args.extent = static_cast<std::uint32_t>(split.extent);
  args.word_bytes = normal.src_type.size();
  args.way = config.way;
  args.words = static_cast<std::uint32_t>(words_of(split, normal));
  const std::int64_t part = words_of_part(args.words);
  const std::int64_t parts = ceil_div(args.words, part);
  args.words_of_part = FastDivide(static_cast<std::uint32_t>(part));
  args.parts = FastDivide(static_cast<std::uint32_t>(parts));
  kernels::WalkMaker<kernels::Walk> matrices;
  for (const Mode& mode : split.batch) {
    matrices.add(mode.extent, mode.src_stride, mode.dst_stride);
  }
  args.matrices = matrices.walk;
  Launch launch;
  kernels::dispatch(args, [&]<class Kernel>() {
    const auto tiles =
        static_cast<std::uint32_t>(ceil_div(split.extent, std::int64_t{Kernel::side}));
    args.tiles = kernels::TileGroups(tiles, group_of(tiles, config.way));
    args.pairs = FastDivide(static_cast<std::uint32_t>(args.tiles.count()));
    const std::int64_t blocks = args.tiles.count() * matrices_of(split) * parts;
    launch = {{static_cast<unsigned>(blocks), 1, 1},
              {static_cast<unsigned>(Kernel::threads), 1, 1},
              Kernel::shared_bytes};
  });
  return {args, launch};
}

void Family::bind(SwapArgs& args, const Problem& normal, const Buffers& buffers, int) {
  args.array = static_cast<std::byte*>(buffers.dst) + normal.dst_offset;
}

}  // namespace cornerturn::plan::gpu::swap
