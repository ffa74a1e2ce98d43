// What this processor is.
#pragma once

#include "plan/machine.hpp"

namespace cornerturn::cpu {

/// This machine, looked at once.
const plan::CpuInfo& cpu_info();
const plan::Machine& machine();

}  // namespace cornerturn::cpu
