// The granules of memory that a case must move: sectors of a GPU, lines of a CPU's caches.
#pragma once

#include <cstdint>
#include <string>

#include "harness/case.hpp"

namespace cornerturn::bench {

inline constexpr int sector_of_gpu = 32;
inline constexpr int line_of_cpu = 64;

/// Granules that hold an element of a case. Buffers begin with one.
struct Footprint {
  int granule = 1;           ///< bytes
  std::int64_t read = 0;     ///< of the source
  std::int64_t written = 0;  ///< of the destination
  std::int64_t partly = 0;   ///< of the destination, which keep some of what they held

  /// What holds elements.
  std::int64_t bytes() const { return granule * (read + written); }
  /// What memory moves at least: what is written in part is read before.
  std::int64_t moved_bytes() const { return bytes() + granule * partly; }
};

Footprint footprint_of(const Case& c, int granule);

/// Notes in a result of the benchmark what memory moves at least for each of its cases.
void note_least_bytes(const std::string& path, int granule);

}  // namespace cornerturn::bench
