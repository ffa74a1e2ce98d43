// Runs a plan for a GPU in the emulator.
#pragma once

#include "plan/gpu/plan.hpp"
#include "simt/emulator.hpp"

namespace cornerturn::simt {

/// `src` and `dst` point to where the problem's offsets count from; the emulator must know their
/// buffers. Alignment is counted from the buffers' host addresses.
void execute(
    Emulator& emulator, const plan::gpu::Plan& plan, void* dst, const void* src, Mode mode,
    const Visitor& visitor = [](const Request&) {}, const Vectors& vectors = {});

}  // namespace cornerturn::simt
