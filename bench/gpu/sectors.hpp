// The 32-byte sectors of memory that a case must move.
#pragma once

#include <cstdint>

#include "harness/case.hpp"

namespace cornerturn::bench {

/// Bytes of all sectors that hold an element of the source, plus those of the destination. Buffers
/// begin at multiples of 32.
std::int64_t sector_bytes(const Case& c);

}  // namespace cornerturn::bench
