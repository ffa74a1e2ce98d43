// What this processor is.
#pragma once

#include "plan/machine.hpp"

namespace cornerturn::cpu {

/// This machine, looked at once; or what the environment variable CORNERTURN_CPU describes in its
/// place (plan::described_cpu). Throws where that describes none.
const plan::CpuInfo& cpu_info();
const plan::Machine& machine();

}  // namespace cornerturn::cpu
