// Launches plans on the GPU. Plain C++: no CUDA types.
#pragma once

#include "plan/gpu/plan.hpp"
#include "plan/gpu/quantise.hpp"

struct CUstream_st;

namespace cornerturn::cuda {

using Stream = CUstream_st*;

/// Enqueues the plan's one launch on `stream`: allocates nothing, waits for nothing, and may be
/// captured in a graph. `src` and `dst` are addresses on the current device, of the plan's
/// alignment, as the scale and the bias are that the plan asks for. Throws when the launch is
/// refused.
void execute(const plan::gpu::Plan& plan, void* dst, const void* src, Stream stream,
             const Vectors& vectors = {});

/// The same for blocks, whose addresses are part of the work.
void execute(const plan::gpu::BlocksWork& work, Stream stream);

}  // namespace cornerturn::cuda
