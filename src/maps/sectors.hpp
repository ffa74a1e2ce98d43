// What one warp request costs in global memory: the sectors of 32 bytes and lines of 128 it
// touches.
#pragma once

#include <array>
#include <bit>
#include <cstdint>

#include "maps/banks.hpp"

namespace cornerturn {

inline constexpr int sector_bytes = 32;
inline constexpr int line_bytes = 128;

struct GlobalCost {
  int sectors = 0;
  int lines = 0;
  int bytes = 0;  ///< different bytes the lanes asked for
  int ideal = 0;  ///< the profiler's: sectors that the lanes' bytes need when they lie together
};

namespace detail {

/// A handful of different numbers; the newest are looked at first, as neighbours often agree, and
/// one that is larger than all need not be looked for, as lanes often ascend.
struct SmallSet {
  std::uint64_t values[warp_lanes];
  std::uint64_t largest = 0;
  int count = 0;

  constexpr bool insert(std::uint64_t value) {
    if (count > 0 && value <= largest) {
      for (int i = count; i-- > 0;) {
        if (values[i] == value) return false;
      }
    } else {
      largest = value;
    }
    values[count++] = value;
    return true;
  }
};

}  // namespace detail

/// Addresses are multiples of the width, so that no lane straddles a sector and two lanes have the
/// same bytes or none in common.
constexpr GlobalCost global_cost(const WarpRequest& request) {
  detail::SmallSet starts;
  detail::SmallSet sectors;
  detail::SmallSet lines;
  for (std::uint32_t rest = request.active; rest != 0; rest &= rest - 1) {
    const std::uint64_t address = request.address[static_cast<std::size_t>(std::countr_zero(rest))];
    if (!starts.insert(address)) continue;
    if (sectors.insert(address / sector_bytes)) lines.insert(address / line_bytes);
  }
  GlobalCost cost;
  cost.sectors = sectors.count;
  cost.lines = lines.count;
  cost.bytes = starts.count * request.width;
  cost.ideal = cost.sectors == 0 ? 0 : detail::ideal_units(request, sector_bytes, cost.sectors);
  return cost;
}

}  // namespace cornerturn
