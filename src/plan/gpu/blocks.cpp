#include "plan/gpu/blocks.hpp"

#include <algorithm>
#include <cstdlib>
#include <numeric>

#include "core/divide.hpp"
#include "plan/gpu/block_lines.hpp"

namespace cornerturn::plan::gpu::blocks {
namespace {

constexpr int threads = 256;

// Lines as the kernel goes through them.
BlockLines lines_of(const Problem& normal, const BlockLayout& layout) {
  BlockLines lines(normal, layout);
  lines.split_few();
  return lines;
}

// log2 of the blocks of a line that a tile has: as many as leave few without a line.
int along_bits(std::int64_t blocks) {
  for (int bits = 3; bits > 0; --bits) {
    const std::int64_t along = std::int64_t{1} << bits;
    if (ceil_div(blocks, along) * along * 4 <= blocks * 5) return bits;
  }
  return 0;
}

// The bytes of codes that a lane moves at once along a line. `start` is the alignment of the first.
int code_unit(const BlockLines& lines, std::int64_t start, int bits) {
  std::int64_t together = start;
  for (const LineMode& mode : lines.modes) together |= mode.values;
  together &= -together;
  if (!lines.q8) return lines.along.values == 1 && together >= 4 ? 4 : 1;
  const bool even = bits > 0 && lines.blocks() % 2 == 0;
  if (lines.along.values == lines.block_bytes() && even && together >= 4) return 4;
  return lines.along.values % 2 == 0 && together >= 2 ? 2 : 1;
}

BlocksTile tile_of(const BlockLines& lines, std::int64_t start) {
  const int bits = along_bits(lines.blocks());
  return {bits, code_unit(lines, start, bits)};
}

// One side of a launch: elements of so many bytes, of which a tile has `of_line` along a line.
struct TileSide {
  bool across;  // neighbours belong to different lines
  std::int64_t LineMode::*stride;
  std::int64_t bytes;
  std::int64_t of_line;
};

// What a tile moves in one piece.
MovedRuns runs_of(const BlockLines& lines, const BlocksTile& tile, const TileSide& side) {
  const LineMode* mode = &lines.along;  // of the run
  std::int64_t count = side.of_line;
  if (side.across) {
    mode = &*std::min_element(lines.modes.begin(), lines.modes.end(),
                              [&](const LineMode& a, const LineMode& b) {
                                return std::abs(a.*side.stride) < std::abs(b.*side.stride);
                              });
    count = std::min<std::int64_t>(mode->extent, threads >> tile.along_bits);
  }
  const std::int64_t run =
      std::abs(mode->*side.stride) == side.bytes ? count * side.bytes : side.bytes;
  std::int64_t granule = std::gcd(run, 64L);
  if (mode != &lines.along) granule = std::gcd(granule, lines.along.*side.stride);
  for (const LineMode& other : lines.modes) {
    if (&other != mode) granule = std::gcd(granule, other.*side.stride);
  }
  return {static_cast<double>(run), granule};
}

Launchable<kernels::BlocksArgs> launch_of(const Problem& normal, const BlockLines& lines,
                                          const BlocksTile& tile) {
  const ElementType type = plain_type(normal);
  kernels::BlocksArgs args;
  args.type = value_type(type);
  args.plain_bytes = type.size();
  args.format = normal.blocks->rule.format;
  args.rule = normal.blocks->rule.scale;
  args.back = normal.blocks->back;
  args.plain_across = lines.plain_across;
  args.values_across = lines.values_across;
  args.along_bits = tile.along_bits;
  args.unit = tile.unit;
  args.length = lines.length();
  args.plain_step = lines.along.plain;
  args.value_step = lines.along.values;
  args.scale_step = lines.along.scales;
  args.lines = 1;
  for (const LineMode& mode : lines.modes) {
    args.lines *= mode.extent;
    args.axis[args.rank++] = {FastDivide64(static_cast<std::uint64_t>(mode.extent)), mode.plain,
                              mode.values, mode.scales};
  }
  Launch launch;
  kernels::dispatch(args, [&]<class Kernel>() {
    const std::int64_t across =
        ceil_div(args.lines, std::int64_t{Kernel::threads} >> args.along_bits);
    const std::int64_t along = ceil_div(lines.blocks(), std::int64_t{1} << args.along_bits);
    args.tiles = across * along;
    // Along the shorter way first: then tiles beside each other, both ways, run soon after another.
    args.tiles_across = across < along;
    args.tiles_fast = FastDivide64(static_cast<std::uint64_t>(args.tiles_across ? across : along));
    const std::int64_t grid = std::min(args.tiles, (std::int64_t{1} << 31) - 1);
    launch.grid = {static_cast<unsigned>(grid), 1, 1};
    launch.block = {static_cast<unsigned>(Kernel::threads), 1, 1};
    launch.dynamic_shared = Kernel::shared_bytes(args);
  });
  return {args, launch};
}

// What one launch asks of the device, added to what others ask.
void add_launch(Demand& demand, const Problem& normal, const BlockLayout& layout,
                const BlocksTile& tile, const Model& model, const Family::Costs& c) {
  const BlockLines lines = lines_of(normal, layout);
  const Launchable<kernels::BlocksArgs> ready = launch_of(normal, lines, tile);
  const bool back = normal.blocks->back;
  const ElementType type = plain_type(normal);
  const auto values = static_cast<double>(normal.elements());
  const std::int64_t of_line = std::min(lines.blocks(), std::int64_t{1} << tile.along_bits);
  const std::int64_t of_values = of_line * block_size;
  const TileSide of_array{lines.plain_across, &LineMode::plain, type.size(),
                          std::min(lines.length(), of_values)};
  const TileSide of_codes{lines.values_across, &LineMode::values,
                          lines.q8 ? lines.block_bytes() : 1, lines.q8 ? of_line : of_values};
  const MovedRuns plain = runs_of(lines, tile, of_array);
  const MovedRuns codes = runs_of(lines, tile, of_codes);
  const double results = normal.blocks->second ? 2 : 1;  // whose bytes the least traffic counts
  demand.src_bytes += src_moved(model, back ? codes : plain);
  demand.dst_bytes += dst_moved(model, back ? plain : codes) / results;
  kernels::dispatch(ready.args, [&]<class Kernel>() {
    static_assert(Kernel::threads == threads);
    const bool known = is_known(type);
    demand.instructions +=
        values * ((back ? c.value_back : c.value) + (known ? 0.0 : model.costs.any_value));
    // Codes go to shared memory and come from there; so do numbers of 4 bytes.
    const double bytes = 2.0 + (Kernel::is_transposed(ready.args) ? 8.0 : 0.0);
    demand.wavefronts += values * bytes / 128;
    demand.resident = resident_blocks(model.device, Kernel::threads, ready.launch.dynamic_shared,
                                      Kernel::min_blocks);
  });
  demand.blocks += static_cast<double>(ready.launch.grid.count());
  ++demand.launches;
}

std::string describe_tile(const BlockLines& lines, const BlocksTile& tile) {
  const int across = threads >> tile.along_bits;
  std::string text = std::to_string(across) + " lines x " + std::to_string(1 << tile.along_bits) +
                     " blocks, values " + (lines.plain_across ? "across" : "along") + " lines, ";
  if (lines.values_across) return text + "codes across lines";
  return text + "codes " + std::to_string(tile.unit) + " B at a time";
}

}  // namespace

const char* Family::why_not(const Problem& normal, const DeviceInfo&) {
  if (const char* rule = why_not_lines(normal)) return rule;
  if (!is_real(plain_type(normal).kind())) return "the values are not real";
  if (normal.blocks->back && normal.blocks->second) {
    return "blocks along two modes are made, not read";
  }
  // Long lines are split: one mode more.
  if (normal.rank() > kernels::max_axes) return "more modes than any memory has elements for";
  return nullptr;
}

void Family::configure(const Problem& normal, const Alignment& start, const DeviceInfo&,
                       const Add<BlocksConfig>& add) {
  BlocksConfig config;
  const std::int64_t of_values = normal.blocks->back ? start.src : start.dst;
  config.first = tile_of(lines_of(normal, normal.blocks->first), of_values);
  if (normal.blocks->second) {
    config.second = tile_of(lines_of(normal, *normal.blocks->second), start.second);
  }
  add(config);
}

Demand Family::demand(const BlocksConfig& config, const Problem& normal, const Model& model,
                      const Costs& c) {
  Demand demand;
  demand.blocks = 0;
  demand.block_seconds = c.block;
  demand.launches = 0;
  add_launch(demand, normal, normal.blocks->first, config.first, model, c);
  if (normal.blocks->second) {
    add_launch(demand, normal, *normal.blocks->second, config.second, model, c);
  }
  return demand;
}

std::string Family::describe(const BlocksConfig& config, const Problem& normal) {
  std::string text = describe_tile(lines_of(normal, normal.blocks->first), config.first);
  if (!normal.blocks->second) return text;
  return text + "; then " + describe_tile(lines_of(normal, *normal.blocks->second), config.second);
}

Launchable<kernels::BlocksArgs> Family::prepare(const BlocksConfig& config, const Problem& normal) {
  Launchable<Args> ready = launch_of(normal, lines_of(normal, normal.blocks->first), config.first);
  if (normal.blocks->second) {
    ready.then = std::make_shared<const Launchable<Args>>(
        launch_of(normal, lines_of(normal, *normal.blocks->second), config.second));
  }
  return ready;
}

void Family::bind(kernels::BlocksArgs& args, const Problem& normal, const Buffers& buffers,
                  int launch) {
  // The kernel's pointers serve both directions: what is read is not written to.
  std::byte* const src =
      static_cast<std::byte*>(const_cast<void*>(buffers.src)) + normal.src_offset;
  std::byte* const dst = static_cast<std::byte*>(buffers.dst) + normal.dst_offset;
  args.plain = normal.blocks->back ? dst : src;
  args.values = normal.blocks->back ? src : dst;
  args.scales = static_cast<std::byte*>(buffers.blocks.scales);
  if (launch == 0) return;
  args.values = static_cast<std::byte*>(buffers.blocks.second);
  args.scales = static_cast<std::byte*>(buffers.blocks.second_scales);
}

}  // namespace cornerturn::plan::gpu::blocks
