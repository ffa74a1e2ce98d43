// Runs a plan for a GPU in the emulator.
#pragma once

#include "core/buffers.hpp"
#include "plan/plan.hpp"
#include "workshop/simt/emulator.hpp"

namespace cornerturn::simt {

/// The pointers are where the problem's offsets count from; the emulator must know their buffers.
/// Alignment is counted from the buffers' host addresses.
void execute(
    Emulator& emulator, const plan::Plan& plan, const Buffers& buffers, Mode mode,
    const Visitor& visitor = [](const Request&) {});

}  // namespace cornerturn::simt
