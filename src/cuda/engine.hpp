// Launches plans on the GPU. Plain C++: no CUDA types.
#pragma once

#include <cstdint>

#include "core/buffers.hpp"
#include "cuda/stream.hpp"
#include "plan/plan.hpp"

namespace cornerturn::cuda {

/// Enqueues the plan's launches on `stream`: waits for nothing, and may be captured in a graph. It
/// allocates nothing but a workspace that the plan asks for and the buffers lack, from the stream's
/// pool. All buffers lie on the current device, at addresses of the plan's
/// alignment. Throws when the launch is refused.
void execute(const plan::Plan& plan, const Buffers& buffers, Stream stream);

/// Whether all kernels of the plan were launched before in this process. The driver loads a kernel
/// when it is first launched, which takes some 30 ms.
bool is_loaded(const plan::Plan& plan);

/// Runs a plan that reduces `src` to its largest magnitude, and returns it as a whole number
/// (values/magnitude.hpp). Waits for the stream. What the plan leaves has memory of its own, enough
/// for a few calls at a time: others wait for them. Not while the stream is being captured.
std::uint64_t largest_magnitude(const plan::Plan& plan, const void* src, Stream stream);

}  // namespace cornerturn::cuda
