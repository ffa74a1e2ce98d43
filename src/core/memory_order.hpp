// The elements of an array in the order of the memory, whatever the order of its axes is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "cornerturn/view.hpp"

namespace cornerturn {

struct MemoryAxis {
  std::int64_t extent = 1;
  std::int64_t stride = 0;  ///< in bytes, positive

  friend bool operator==(const MemoryAxis&, const MemoryAxis&) = default;
};

struct MemoryOrder {
  const std::byte* first = nullptr;  ///< the lowest address
  std::vector<MemoryAxis> axes;      ///< the fastest first, no two that could be one
};

/// Each element once, but for those that strides of 0 repeat: they count once as well. No extent is
/// 0.
MemoryOrder memory_order(const std::byte* data, const Extents& shape, const Extents& strides);

}  // namespace cornerturn
