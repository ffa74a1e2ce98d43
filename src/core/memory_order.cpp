#include "core/memory_order.hpp"

#include <algorithm>
#include <cstdlib>

namespace cornerturn {

MemoryOrder memory_order(const std::byte* data, const Extents& shape, const Extents& strides) {
  MemoryOrder order{data, {}};
  std::vector<MemoryAxis> axes;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == 1 || strides[i] == 0) continue;
    axes.push_back({shape[i], std::abs(strides[i])});
    if (strides[i] < 0) order.first += (shape[i] - 1) * strides[i];
  }
  std::sort(axes.begin(), axes.end(),
            [](const MemoryAxis& a, const MemoryAxis& b) { return a.stride < b.stride; });
  for (const MemoryAxis& axis : axes) {
    if (!order.axes.empty() && order.axes.back().stride * order.axes.back().extent == axis.stride) {
      order.axes.back().extent *= axis.extent;
    } else {
      order.axes.push_back(axis);
    }
  }
  return order;
}

}  // namespace cornerturn
