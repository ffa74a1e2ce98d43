// rows: both sides share their fastest mode; its runs are moved whole. So are those that repeat one
// element of the source.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "core/problem.hpp"
#include "plan/cost.hpp"
#include "plan/cpu/stores.hpp"
#include "plan/family.hpp"

namespace cornerturn::plan {

// The work is cut into boxes: one row, or a block of rows along the fastest other modes of the
// destination (so that rows follow each other there) and of the source (so that they share lines).
struct RowsConfig {
  struct Block {
    int mode = -1;
    std::int64_t rows = 1;

    friend bool operator==(const Block&, const Block&) = default;
  };
  static constexpr int most_blocks = 4;

  std::int64_t run_bytes = 0;               ///< of a row
  std::int64_t repeated_bytes = 0;          ///< of the source's element that is all of it, or 0
  std::int64_t chunk_bytes = 0;             ///< of it moved at a time: a long run is cut
  int outer_rank = 0;                       ///< modes other than the run
  std::array<Block, most_blocks> blocks{};  ///< modes of which a box takes several rows
  bool staged = false;                      ///< boxes are read in the order of the source
  bool fetched = false;                     ///< sources are fetched ahead whatever the stores
  Stores stores = Stores::regular;          ///< where past the caches, sources are fetched ahead

  /// The bytes of a row in the source.
  std::int64_t source_bytes() const { return repeated_bytes > 0 ? repeated_bytes : run_bytes; }
  std::int64_t block_of(int mode) const {
    for (const Block& block : blocks) {
      if (block.mode == mode) return block.rows;
    }
    return 1;
  }

  friend bool operator==(const RowsConfig&, const RowsConfig&) = default;
};

namespace rows {

/// Rows that stand alone in the destination go through the caches if they have fewer bytes.
inline constexpr std::int64_t shortest_streamed = 1 << 10;

/// Rows, or parts of them, of so many bytes that go through the caches are each copied by memcpy.
inline constexpr std::int64_t shortest_copied = 4 << 10;

/// Rows that repeat an element are put together in parts of so many bytes at most.
inline constexpr std::int64_t longest_repeated = 2 << 10;

/// What things cost one thread. Assumed, with rows of some sizes in view.
struct Costs {
  Cost row_ns{"row_ns", 0.52, "a row"};
  Cost backwards_row_ns{"backwards_row_ns", 1, "more for a row that lies before its predecessor"};
  Cost cached_bytes_a_ns{"cached_bytes_a_ns", 172.2, "bytes of rows in the caches"};
  Cost regular_bytes_a_ns{"regular_bytes_a_ns", 10.4, "bytes of rows stored through the caches"};
  Cost past_caches_bytes_a_ns{"past_caches_bytes_a_ns", 16, "bytes of rows stored around them"};
  Cost group_ns{"group_ns", 5.581, "rows of a box that follow each other in the destination"};
  Cost around_end_ns{"around_end_ns", 12,
                     "the partial lines of a stretch stored around the caches"};
  Cost end_ns{"end_ns", 4.465, "the ends of what a box has side by side on either side"};

  friend bool operator==(const Costs&, const Costs&) = default;
};

struct Family {
  static constexpr std::string_view name = "rows";
  static constexpr std::string_view idea =
      "both sides share their fastest mode, or it repeats an element: its rows are moved whole";
  static constexpr Operations operations{Operation::move};
  using Costs = rows::Costs;
  using Config = RowsConfig;

  static const char* why_not(const Problem& normal, const CpuInfo& cpu);
  static void configure(const Problem& normal, const CpuInfo& cpu, const Add<Config>& add);
  static double cost_ns(const Config& config, const Problem& normal, const CpuInfo& cpu,
                        const Costs& costs, int dst_phase);
  static std::string describe(const Config& config, const Problem& normal);
};

}  // namespace rows
}  // namespace cornerturn::plan
