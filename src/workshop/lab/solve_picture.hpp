// An answer of the solver, drawn.
#pragma once

#include "workshop/lab/picture.hpp"
#include "workshop/lab/solve.hpp"

namespace cornerturn::lab {

/// The tile with the lanes that take it, and the wavefronts of both sides, as of an Explanation;
/// also of layouts that CuTe cannot write.
Picture picture_of(const Answer& answer, const plan::gpu::DeviceInfo& device);

}  // namespace cornerturn::lab
