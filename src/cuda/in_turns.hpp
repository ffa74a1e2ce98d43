// One launch for several problems of one shape, whose blocks take turns. Where some of them store
// over a link and others into memory, both are busy all the time.
#pragma once

#include "cuda/engine.hpp"
#include "kernels/turns.hpp"

namespace cornerturn::cuda {

/// Can so many problems of this plan's share a launch?
bool can_run_in_turns(const plan::Plan& plan, int count);

/// Enqueues them; `first` is where the first one lies. All addresses have the plan's alignment.
void execute_in_turns(const plan::Plan& plan, const Buffers& first, const Turns& turns,
                      Stream stream);

}  // namespace cornerturn::cuda
