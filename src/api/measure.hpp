// Times plans on the caller's own data.
#pragma once

#include "core/buffers.hpp"
#include "plan/plan.hpp"

namespace cornerturn {

/// Runs a plan for the CPU, and returns the seconds that this takes.
double seconds_of(const plan::Plan& plan, const Buffers& buffers);

/// `plan` with the fastest of its cheapest candidates chosen. Each one solves the problem, so the
/// result is in the destination when this returns. On a GPU, which is the current one, it waits for
/// what `stream`, a cudaStream_t, has to do.
plan::Plan measured(plan::Plan plan, const Buffers& buffers, void* stream);

}  // namespace cornerturn
