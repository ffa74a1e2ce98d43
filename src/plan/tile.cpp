#include "plan/tile.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "plan/planner.hpp"

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
  std::int64_t next = normal.dst_type.size();
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

bool has_unit(const TileSplit& split, std::int64_t width) {
  return split.chain_modes > 0 && split.columns * width >= unit_bytes;
}

// Rows whose lines fall near each other in the sets of the second-level cache (8 ways): of the
// first 256, how many lie within 5 lines of the first one.
int colliding_rows(const Problem& normal, const CpuInfo& cpu) {
  const std::int64_t way = cpu.l2_bytes / 8;
  const std::int64_t near = 5 * line;
  const Mode& mode = normal.modes.back();
  const std::int64_t pitch = std::abs(mode.src_stride) % way;
  int colliding = 0;
  std::int64_t at = 0;
  for (std::int64_t i = 1; i < std::min<std::int64_t>(mode.extent, 256); ++i) {
    at += pitch;
    if (at >= way) at -= way;
    colliding += at < near || at > way - near;
  }
  return colliding;
}

}  // namespace

const char* why_not(const Problem& normal, const CpuInfo&) {
  const std::int64_t width = normal.dst_type.size();
  if (normal.rank() < 2) return "it has fewer than two modes";
  if (normal.modes.back().extent == 0) return "it is empty";
  if (normal.modes.back().dst_stride != width) return "its destination has no contiguous run";
  if (!has_unit(split_tile(normal, 1), width)) {
    return "its source has no contiguous run of 16 bytes in another mode than the destination's";
  }
  return nullptr;
}

Configs configure(const Problem& normal, const CpuInfo& cpu) {
  Configs configs;
  const std::int64_t width = normal.dst_type.size();
  const bool collide = colliding_rows(normal, cpu) > 8;
  for (int modes = 1; modes < normal.rank() && configs.size < max_configs; ++modes) {
    const Mode& mode = normal.modes[normal.rank() - modes];
    if (modes > 1) {
      const Mode& inner = normal.modes[normal.rank() - modes + 1];
      if (mode.dst_stride != inner.dst_stride * inner.extent) break;
    }
    const TileSplit split = split_tile(normal, modes);
    if (!has_unit(split, width)) break;
    const std::int64_t run_bytes = split.run * width;
    TileConfig config;
    config.run_modes = modes;
    config.non_temporal = stores_bypass_cache(normal, cpu);
    config.strip_bytes = width <= 2 ? 512 : 1024;
    config.window_bytes = width <= 2 ? 64 : 128;
    config.copy_rows = collide;
    if (split.columns * width <= 128) config.window_bytes = 128;
    const Mode& chain = normal.modes[split.chain[0]];
    config.packed = run_bytes <= 2048 && chain.dst_stride == run_bytes && chain.src_stride > 0;
    configs.list[static_cast<std::size_t>(configs.size++)] = config;
  }
  return configs;
}

double cost_ns(const TileConfig& config, const Problem& normal, const CpuInfo&) {
  const double width = normal.dst_type.size();
  const TileSplit split = split_tile(normal, config.run_modes);
  const double bytes = static_cast<double>(normal.bytes());
  const double run = static_cast<double>(split.run) * width;
  const double chain = static_cast<double>(split.columns) * width;
  const double segment = config.packed ? 4096 : std::min<double>(run, config.strip_bytes);
  const double write = (3.0 + 1.5 * segment / 64) / segment;
  const double read = (6.0 + 2.0 * chain / 64) / chain;
  const double compute = width == 1 ? 0.036 : 0.030;
  return 100 + bytes * (write + read + compute);
}

std::string describe(const TileConfig& config, const Problem& normal) {
  const TileSplit split = split_tile(normal, config.run_modes);
  return fmt::format(
      "runs of {} and {} elements in strips of {} B by windows of {} B{}{}, {} stores", split.run,
      split.columns, config.strip_bytes, config.window_bytes,
      config.copy_rows ? ", rows copied first" : "", config.packed ? ", packed" : "",
      config.non_temporal ? "non-temporal" : "regular");
}

}  // namespace tile
}  // namespace cornerturn::plan
