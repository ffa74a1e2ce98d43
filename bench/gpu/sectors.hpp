// The 32-byte sectors of memory that a case must move.
#pragma once

#include <cstdint>

#include "harness/case.hpp"

namespace cornerturn::bench {

/// Sectors that hold an element of a case. Buffers begin at multiples of 32.
struct Sectors {
  std::int64_t read = 0;     ///< of the source
  std::int64_t written = 0;  ///< of the destination
  std::int64_t partly = 0;   ///< of the destination, which keep some of what they held

  /// What holds elements.
  std::int64_t bytes() const { return 32 * (read + written); }
  /// What memory moves at least: what is written in part is read before.
  std::int64_t moved_bytes() const { return bytes() + 32 * partly; }
};

Sectors sectors_of(const Case& c);

}  // namespace cornerturn::bench
