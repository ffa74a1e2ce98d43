// shuffle: boxes cut into blocks of some hundred bytes, which are collected in short windows of the
// source, put in the destination's order by permuting registers, and written in short pieces. For
// many short modes of small elements.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/problem.hpp"
#include "plan/cost.hpp"
#include "plan/cpu/box_grid.hpp"
#include "plan/family.hpp"

namespace cornerturn::plan {

struct CpuInfo;

/// A *window* is a short stretch of the source, a *piece* one of the destination. A block is some
/// windows, and all pieces that their elements make.
struct ShuffleConfig {
  struct Part {
    std::int32_t mode = -1;
    std::int32_t extent = 1;  ///< of a box
    std::int16_t window = 0;  ///< indices that a window spans; 0: none
    std::int16_t block = 0;   ///< indices of which each has a window of a block; 0: none

    /// Indices that a block has of the mode.
    std::int64_t in_block() const { return window > 0 ? window : block > 0 ? block : 1; }

    friend bool operator==(const Part&, const Part&) = default;
  };
  static constexpr int most_parts = 16;

  std::array<Part, most_parts> parts{};  ///< modes of which a box has more than one index
  int part_count = 0;
  std::int64_t src_run = 0;  ///< bytes of a box that lie side by side, about
  std::int64_t dst_run = 0;
  std::int64_t boxes_a_piece = 1;  ///< of work

  friend bool operator==(const ShuffleConfig&, const ShuffleConfig&) = default;
};

namespace shuffle {

/// A box has at most so many elements, a block at most so many bytes, on either side.
inline constexpr std::int64_t most_elements = 64 << 10;
inline constexpr std::int64_t most_block_bytes = 1024;
/// A window spans at most so many.
inline constexpr std::int64_t longest_window_bytes = 256;

BoxGrid grid_of(const ShuffleConfig& config, const Problem& normal);

/// What things cost one thread.
struct Costs {
  Cost start_ns{"start_ns", 492.8, "the call, with its tables"};
  Cost block_ns{"block_ns", 3.077, "a block: its places on both sides"};
  Cost window_ns{"window_ns", 0.7692,
                 "a window, or a vector that a vector of a block is put together from"};
  Cost piece_ns{"piece_ns", 0.7692, "a piece: its place, its load and its store"};
  Cost line_ns{"line_ns", 7.023, "a line from memory to memory"};
  Cost cached_line_ns{"cached_line_ns", 1.506, "the same in the second-level cache"};
  Cost end_ns{"end_ns", 6.689, "the ends of a run of either side: lines that come again"};
  Cost overlap{"overlap", 0.25, "of the shorter of work and lines, what the longer one leaves", 1};

  friend bool operator==(const Costs&, const Costs&) = default;
};

struct Family {
  static constexpr std::string_view name = "shuffle";
  static constexpr std::string_view idea =
      "blocks of short windows that registers put in the destination's order";
  static constexpr Operations operations{Operation::move};
  using Costs = shuffle::Costs;
  using Config = ShuffleConfig;

  static const char* why_not(const Problem& normal, const CpuInfo& cpu);
  static void configure(const Problem& normal, const CpuInfo& cpu, const Add<ShuffleConfig>& add);
  static double cost_ns(const Config& config, const Problem& normal, const CpuInfo& cpu,
                        const Costs& costs);
  static std::string describe(const Config& config, const Problem& normal);
};

}  // namespace shuffle
}  // namespace cornerturn::plan
