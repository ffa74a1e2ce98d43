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

/// Do the elements, in some order of the axes, lie one after the other without a gap? A clone that
/// is asked for in no format then has the same strides. `sizes` are not 0.
bool lies_together(std::int64_t rank, const std::int64_t* sizes, const std::int64_t* strides);

}  // namespace cornerturn::torch
