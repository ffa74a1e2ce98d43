// What this processor is.
#pragma once

#include "plan/cpu_info.hpp"

namespace cornerturn::cpu {

/// This machine, looked at once.
const plan::CpuInfo& cpu_info();

}  // namespace cornerturn::cpu
