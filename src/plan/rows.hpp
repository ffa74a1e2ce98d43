// rows: both sides share their fastest mode; its runs are moved whole.
#pragma once

#include <array>
#include <string>

#include "core/problem.hpp"
#include "plan/cpu_info.hpp"

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
  std::int64_t chunk_bytes = 0;             ///< of it moved at a time: a long run is cut
  int outer_rank = 0;                       ///< modes other than the run
  std::array<Block, most_blocks> blocks{};  ///< modes of which a box takes several rows
  bool staged = false;                      ///< boxes are read in the order of the source
  bool non_temporal = false;                ///< stores bypass the caches, sources are fetched ahead

  std::int64_t block_of(int mode) const {
    for (const Block& block : blocks) {
      if (block.mode == mode) return block.rows;
    }
    return 1;
  }

  friend bool operator==(const RowsConfig&, const RowsConfig&) = default;
};

namespace rows {

const char* why_not(const Problem& normal, const CpuInfo& cpu);
RowsConfig configure(const Problem& normal, const CpuInfo& cpu);
double cost_ns(const RowsConfig& config, const Problem& normal, const CpuInfo& cpu);
std::string describe(const RowsConfig& config, const Problem& normal);

}  // namespace rows
}  // namespace cornerturn::plan
