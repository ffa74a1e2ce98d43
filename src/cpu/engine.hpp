// Runs a plan: its pieces over the threads it asks for.
#pragma once

#include "plan/plan.hpp"

namespace cornerturn::cpu {

/// Executes `plan` from `src` to `dst` (the pointers the problem's offsets count from), with the
/// scale and the bias that it asks for, and returns when all of it is done. Nothing is allocated
/// beyond each thread's scratch.
void execute(const plan::Plan& plan, const void* src, void* dst, const Vectors& vectors = {});

}  // namespace cornerturn::cpu
