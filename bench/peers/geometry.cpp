#include "geometry.hpp"

#include <algorithm>
#include <cstdlib>

namespace cornerturn::bench {
namespace {

bool is_packed(const std::vector<PeerMode>& modes, std::int64_t PeerMode::*stride) {
  std::vector<PeerMode> sorted = modes;
  std::sort(sorted.begin(), sorted.end(),
            [&](const PeerMode& a, const PeerMode& b) { return a.*stride < b.*stride; });
  std::int64_t expected = 1;
  for (const PeerMode& mode : sorted) {
    if (mode.*stride != expected) return false;
    expected *= mode.extent;
  }
  return true;
}

}  // namespace

std::vector<PeerMode> joined_modes(const Case& c) {
  std::vector<PeerMode> modes;
  for (std::size_t k = 0; k < c.shape.size(); ++k) {
    if (c.shape[k] != 1) modes.push_back({c.shape[k], c.src_strides[k], c.dst_strides[k]});
  }
  std::sort(modes.begin(), modes.end(), [](const PeerMode& a, const PeerMode& b) {
    return std::abs(a.dst_stride) > std::abs(b.dst_stride);
  });
  std::vector<PeerMode> joined;
  for (const PeerMode& mode : modes) {
    if (!joined.empty() && joined.back().src_stride == mode.src_stride * mode.extent &&
        joined.back().dst_stride == mode.dst_stride * mode.extent) {
      joined.back() = {joined.back().extent * mode.extent, mode.src_stride, mode.dst_stride};
    } else {
      joined.push_back(mode);
    }
  }
  return joined;
}

bool source_is_packed(const std::vector<PeerMode>& modes) {
  return is_packed(modes, &PeerMode::src_stride);
}

bool destination_is_packed(const std::vector<PeerMode>& modes) {
  return is_packed(modes, &PeerMode::dst_stride);
}

}  // namespace cornerturn::bench
