// What the public functions ask of the GPUs here, in plain C++ and in every build.
#pragma once

#include <vector>

#include "cuda/engine.hpp"
#include "cuda/place.hpp"
#include "plan/gpu/device_info.hpp"
#include "plan/learning.hpp"

namespace cornerturn::cuda {

/// The number of the calling thread's current GPU. Throws Error(unsupported) with why_no_gpu().
int current_device();

/// What the planner needs to know of the current GPU, whose number is `device`; asked once. Throws
/// Error(unsupported) when this build has no code for it.
const plan::Machine& machine_of(int device);

/// Whether what is enqueued now becomes a part of a graph, or may not be enqueued.
bool is_captured(Stream stream);

/// Throws Error(unsupported), "... but the stream is being captured: `why`", while it is.
void refuse_captured(Stream stream, const char* what, const char* why);

/// Seconds of one run of each plan on `stream`, the best of a few rounds; waits for them.
/// Each run solves the problem. Throws Error(unsupported) while the stream is being captured.
std::vector<double> seconds_of(const std::vector<plan::Plan>& plans, const Buffers& buffers,
                               Stream stream);

/// Enqueues the plan as execute() does, between two events. Neither this nor what it returns waits.
/// A stream that is idle is held for a moment, since a kernel for which the GPU waits cannot be
/// timed. Infinity: the GPU has waited all the same, as for a kernel that is loaded first.
plan::Timing execute_timed(const plan::Plan& plan, const Buffers& buffers, Stream stream);

}  // namespace cornerturn::cuda
