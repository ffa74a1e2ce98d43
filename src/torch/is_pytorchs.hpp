// Which copies stay PyTorch's.
#pragma once

#include "plan/plan.hpp"

namespace cornerturn::torch {

/// Does the plan go through memory as PyTorch's own kernel does, so that nothing is to be gained?
bool is_pytorchs(const plan::Plan& plan);

}  // namespace cornerturn::torch
