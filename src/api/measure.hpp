// Times candidates on the caller's own data.
#pragma once

#include "plan/gpu/plan.hpp"
#include "plan/plan.hpp"

namespace cornerturn {

/// `plan` with the fastest of its cheapest candidates chosen. Each one solves the problem, so the
/// result is in `dst` when this returns.
plan::Plan measured(plan::Plan plan, void* dst, const void* src, const Vectors& vectors);
/// The same on the current GPU; waits for what `stream`, a cudaStream_t, has to do.
plan::gpu::Plan measured(plan::gpu::Plan plan, void* dst, const void* src, const Vectors& vectors,
                         void* stream);

}  // namespace cornerturn
