// The strides of a new tensor, as PyTorch's memory formats say them.
#pragma once

#include <array>
#include <cstdint>

#include "core/problem.hpp"
#include "torch/shim.hpp"

namespace cornerturn::torch {

/// The strides, in elements, of a new tensor in this format. False for `preserve`, whose strides
/// are PyTorch's business, and for a rank that the format does not have.
bool strides_for(MemoryFormat format, std::int64_t rank, const std::int64_t* sizes,
                 std::array<std::int64_t, max_rank>& strides);

}  // namespace cornerturn::torch
