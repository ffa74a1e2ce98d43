// tile: source and destination have different fastest modes and both have long runs. A tile of a
// destination run (rows of the source) by a source run is transposed in registers.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/problem.hpp"
#include "plan/cost.hpp"
#include "plan/cpu/stores.hpp"
#include "plan/family.hpp"

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
  /// the same place within a line. Through a stage all the same if short rows begin within a line
  /// (at_phase), or elements do not lie at multiples of their size.
  bool direct = false;
  Stores stores = Stores::regular;

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

/// A run of the destination of so many bytes at most is short: see at_phase.
inline constexpr std::int64_t short_run = 1024;

/// How the tiles of a plan are moved where the destination rows begin `phase` bytes after the start
/// of a line. Short runs of a direct tile that begin and end within lines go through a stage,
/// whole, where possible with their neighbours: two ends of each that are written apart cost as
/// much as the memory's answer to a line that is read, changed and written back. The pieces are the
/// same.
TileConfig at_phase(const TileConfig& config, const Problem& normal, std::int64_t phase);

/// What things cost one thread: what memory costs, what each run that ends costs on either side,
/// and the work in registers. Measured with matrices of many shapes on a Zen 4 processor.
struct Costs {
  Cost start_ns{"start_ns", 110, "the call"};
  Cost piece_ns{"piece_ns", 60, "a strip of a sweep"};
  Cost read_line_ns{"read_line_ns", 1.538, "a line of the source from memory"};
  Cost write_line_ns{"write_line_ns", 1.154, "a line of the destination past the caches"};
  Cost cached_line_ns{"cached_line_ns", 0.7639, "a line of either through the caches"};
  Cost cached_bytes{"cached_bytes", 512 << 10, "bytes of a source that stays in the caches"};
  Cost source_run_ns{"source_run_ns", 4.013, "each run of the source"};
  Cost destination_run_ns{"destination_run_ns", 3,
                          "each stretch of the destination written at once"};
  Cost packed_run_ns{"packed_run_ns", 2.018,
                     "each run on its way past the caches that follows another one"};
  Cost partial_line_ns{"partial_line_ns", 4, "each end of a run that lies within a line"};
  Cost direct_line_ns{"direct_line_ns", 0.6154, "work on a line that goes straight to memory"};
  Cost staged_line_ns{"staged_line_ns", 1.462, "work on any other line"};
  Cost copied_line_ns{"copied_line_ns", 1, "more work on a line where rows are copied first"};

  friend bool operator==(const Costs&, const Costs&) = default;
};

struct Family {
  static constexpr std::string_view name = "tile";
  static constexpr std::string_view idea = "long runs on both sides, transposed in registers";
  static constexpr Operations operations{Operation::move, Operation::convert};
  static constexpr bool spreads_lists = true;
  using Costs = tile::Costs;
  using Config = TileConfig;

  static const char* why_not(const Problem& normal, const CpuInfo& cpu);
  static void configure(const Problem& normal, const CpuInfo& cpu, const Add<Config>& add);
  static double cost_ns(const Config& config, const Problem& normal, const CpuInfo& cpu,
                        const Costs& costs, int dst_phase);
  static std::string describe(const Config& config, const Problem& normal);
};

}  // namespace tile
}  // namespace cornerturn::plan
