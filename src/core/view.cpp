#include "cornerturn/view.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/checked.hpp"

namespace cornerturn {

Extents packed_strides(const Extents& shape, int element_size) {
  // Strides of an empty array are never used, and may be anything that fits.
  const bool empty = std::find(shape.begin(), shape.end(), 0) != shape.end();
  Extents strides(shape.size());
  std::int64_t stride = element_size;
  for (std::size_t i = shape.size(); i-- > 0;) {
    strides[i] = stride;
    const std::int64_t extent = std::max<std::int64_t>(shape[i], 1);
    std::int64_t next = 0;
    if (empty && __builtin_mul_overflow(stride, extent, &next)) continue;
    stride = checked_mul(stride, extent, [&] {
      return fmt::format("the size of shape ({}) with elements of {} bytes", fmt::join(shape, ","),
                         element_size);
    });
  }
  return strides;
}

Extents permuted(const Extents& values, std::span<const int> permutation) {
  const std::size_t rank = values.size();
  if (permutation.size() != rank) {
    throw Error(Status::invalid_argument,
                fmt::format("perm = ({}) has {} entries, the array has rank {}",
                            fmt::join(permutation, ","), permutation.size(), rank));
  }
  Extents result(rank);
  for (std::size_t i = 0; i < rank; ++i) {
    const int axis = permutation[i];
    if (axis < 0 || static_cast<std::size_t>(axis) >= rank) {
      throw Error(Status::invalid_argument,
                  fmt::format("perm[{}] = {} is out of range for rank {}", i, axis, rank));
    }
    // Few enough that looking is faster than noting.
    const auto before = permutation.first(i);
    const auto first = std::find(before.begin(), before.end(), axis);
    if (first != before.end()) {
      throw Error(Status::invalid_argument,
                  fmt::format("perm[{}] = {} repeats perm[{}]: each axis is named once", i, axis,
                              first - before.begin()));
    }
    result[i] = values[static_cast<std::size_t>(axis)];
  }
  return result;
}

}  // namespace cornerturn
