// The largest magnitude of an array: one maximum over the bits of |x|, in the order of the memory.
#pragma once

#include <cstddef>

#include "cornerturn/element_type.hpp"
#include "cornerturn/view.hpp"

namespace cornerturn::cpu {

/// `type` is real. No extent times its stride overflows.
double amax(const std::byte* data, ElementType type, const Extents& shape, const Extents& strides,
            int threads);

}  // namespace cornerturn::cpu
