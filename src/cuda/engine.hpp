// Launches plans on the GPU. Plain C++: no CUDA types.
#pragma once

#include <cstdint>

#include "plan/gpu/amax.hpp"
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

/// The largest magnitude, as a whole number (values/magnitude.hpp). Waits for the stream; what the
/// kernel leaves needs no memory but some of its own, which a few calls at a time can have: others
/// wait for them. Not while the stream is being captured.
std::uint64_t largest_magnitude(const plan::gpu::AmaxWork& work, Stream stream);

}  // namespace cornerturn::cuda
