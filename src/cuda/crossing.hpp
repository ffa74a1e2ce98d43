// Runs routes across the link between host memory and the current GPU. Plain C++, in every build.
#pragma once

#include <cstdint>

#include "core/buffers.hpp"
#include "cuda/stream.hpp"
#include "plan/plan.hpp"

namespace cornerturn::cuda {

/// Pinned memory that the library may have for a GPU, in bytes: CORNERTURN_PINNED, or 64 MiB.
std::int64_t most_pinned_bytes();

/// Runs a plan for a link as link::execute() does, with `stream` as the caller's queue.
void execute_across(const plan::Plan& plan, const Buffers& buffers, Stream stream);

}  // namespace cornerturn::cuda
