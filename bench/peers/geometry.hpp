// Cases as the peers see them: few modes, in the destination's order.
#pragma once

#include <cstdint>
#include <vector>

#include "harness/case.hpp"

namespace cornerturn::bench {

/// One mode; strides in elements.
struct PeerMode {
  std::int64_t extent = 1;
  std::int64_t src_stride = 0;
  std::int64_t dst_stride = 0;
};

/// The modes of `c` without extents of 1, slowest of the destination first, with neighbours joined
/// that continue each other on both sides. A scalar has none.
std::vector<PeerMode> joined_modes(const Case& c);

/// True when the source (the destination) has no gaps and no negative strides.
bool source_is_packed(const std::vector<PeerMode>& modes);
bool destination_is_packed(const std::vector<PeerMode>& modes);

}  // namespace cornerturn::bench
