// rows: both sides share their fastest mode; its runs are moved whole.
#pragma once

#include <string>

#include "core/problem.hpp"
#include "plan/cpu_info.hpp"

namespace cornerturn::plan {

// Two of the other modes matter: `along`, the next one in the destination, whose rows follow each
// other there, and `across`, the next one in the source, whose rows share source lines when they
// are short. A tile is a block of both; the rest is counted through.
struct RowsConfig {
  std::int64_t run_bytes = 0;     ///< of a row
  std::int64_t chunk_bytes = 0;   ///< of it moved at a time; a run is cut when it is huge
  int along = -1;                 ///< index of the mode; -1: there is none
  std::int64_t along_block = 1;   ///< rows of it in a tile
  int across = -1;                ///< -1: there is none, or the source order does not matter
  std::int64_t across_block = 1;  ///< rows of it in a tile
  bool packed = false;            ///< rows along the destination touch each other
  bool non_temporal = false;      ///< stores bypass the caches

  friend bool operator==(const RowsConfig&, const RowsConfig&) = default;
};

namespace rows {

const char* why_not(const Problem& normal, const CpuInfo& cpu);
RowsConfig configure(const Problem& normal, const CpuInfo& cpu);
double cost_ns(const RowsConfig& config, const Problem& normal, const CpuInfo& cpu);
std::string describe(const RowsConfig& config, const Problem& normal);

}  // namespace rows
}  // namespace cornerturn::plan
