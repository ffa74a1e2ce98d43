#include "torch/strides.hpp"

#include <algorithm>

namespace cornerturn::torch {
namespace {

bool is(MemoryFormat format, std::int32_t (*of_pytorch)()) {
  return static_cast<std::int32_t>(format) == of_pytorch();
}

}  // namespace

bool strides_for(MemoryFormat format, std::int64_t rank, const std::int64_t* sizes,
                 std::array<std::int64_t, max_rank>& strides) {
  const bool packed = is(format, shim().contiguous_format);
  const std::int64_t images = is(format, shim().channels_last)      ? 4
                              : is(format, shim().channels_last_3d) ? 5
                                                                    : 0;
  if (!packed && rank != images) return false;
  std::int64_t step = 1;
  const auto next = [&](std::int64_t axis) {
    strides[static_cast<std::size_t>(axis)] = step;
    step *= std::max<std::int64_t>(sizes[axis], 1);
  };
  if (!packed) next(1);  // the channels come first
  for (std::int64_t axis = rank; axis-- > 0;) {
    if (packed || axis != 1) next(axis);
  }
  return true;
}

bool lies_together(std::int64_t rank, const std::int64_t* sizes, const std::int64_t* strides) {
  std::int64_t left = 0;  // axes with a stride of their own
  for (std::int64_t axis = 0; axis < rank; ++axis) {
    left += sizes[axis] > 1 ? 1 : 0;
  }
  for (std::int64_t step = 1; left > 0; --left) {
    std::int64_t axis = rank;
    while (axis-- > 0) {
      if (sizes[axis] > 1 && strides[axis] == step) break;
    }
    if (axis < 0) return false;
    step *= sizes[axis];
  }
  return true;
}

}  // namespace cornerturn::torch
