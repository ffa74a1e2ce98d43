// How the kernel amax is launched for an array. Plain host code.
#pragma once

#include <cstddef>
#include <cstdint>

#include "cornerturn/element_type.hpp"
#include "cornerturn/view.hpp"
#include "kernels/amax.hpp"

namespace cornerturn::plan::gpu {

/// Blocks of a launch, and so magnitudes that it leaves. They fill the largest GPUs.
inline constexpr int most_amax_blocks = 1024;

/// One launch, complete but for `found`: a number for each of its blocks, of which the largest is
/// the array's.
struct AmaxWork {
  kernels::AmaxArgs args;
  Launch launch;
};

/// `type` is real, no extent is 0; elements lie at multiples of their size. Throws Error where
/// there are more axes than the kernel takes, which elements that overlap alone can have.
AmaxWork amax_work(const std::byte* data, ElementType type, const Extents& shape,
                   const Extents& strides);

}  // namespace cornerturn::plan::gpu
