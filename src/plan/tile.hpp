// tile: source and destination have different fastest modes and both have long runs. A tile of a
// destination run (rows of the source) by a source run is transposed in registers.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "core/problem.hpp"
#include "plan/cpu_info.hpp"

namespace cornerturn::plan {

struct TileConfig {
  int run_modes = 1;         ///< so many trailing destination modes form the destination run
  int strip_bytes = 512;     ///< of the destination run, a tile
  int window_bytes = 64;     ///< of the source run, a tile
  int prefetch_bytes = 256;  ///< ahead in the source run; 0: none
  /// Copies each block of source rows to the first-level cache before it is transposed: for rows
  /// whose pitch makes them fall into the same cache sets.
  bool copy_rows = false;
  /// The destination runs of a tile follow one another and are written as one.
  bool packed = false;
  /// Whole lines go from the registers to memory, without a stage: all destination rows begin at
  /// the same place within a line.
  bool direct = false;
  bool non_temporal = false;

  friend bool operator==(const TileConfig&, const TileConfig&) = default;
};

/// Which mode plays which part. Positions in a problem's mode list, fastest first.
struct TileSplit {
  int run_modes = 0;    ///< the trailing modes: one contiguous run in the destination
  int chain_modes = 0;  ///< one contiguous run in the source
  int batch_modes = 0;  ///< the rest, by source stride
  std::array<std::uint8_t, ModeList::capacity> chain{};
  std::array<std::uint8_t, ModeList::capacity> batch{};
  std::int64_t run = 1;      ///< elements of the destination run
  std::int64_t columns = 1;  ///< elements of the source run
};

/// The split with `run_modes` destination modes. No chain: the source has no contiguous run.
TileSplit split_tile(const Problem& normal, int run_modes);

namespace tile {

/// At most so many configurations are offered for one problem.
inline constexpr int max_configs = 4;

struct Configs {
  std::array<TileConfig, max_configs> list;
  int size = 0;
};

const char* why_not(const Problem& normal, const CpuInfo& cpu);
Configs configure(const Problem& normal, const CpuInfo& cpu);
double cost_ns(const TileConfig& config, const Problem& normal, const CpuInfo& cpu);
std::string describe(const TileConfig& config, const Problem& normal);

}  // namespace tile
}  // namespace cornerturn::plan
