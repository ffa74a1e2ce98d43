// The rungs of the kernel form as rows that the launcher knows.
#pragma once

#include <vector>

#include "workshop/cuda/device_rung.hpp"

namespace cornerturn::cuda {

/// In the order of workshop/rungs/registry.hpp.
const std::vector<DeviceRung>& kernel_rungs();

}  // namespace cornerturn::cuda
