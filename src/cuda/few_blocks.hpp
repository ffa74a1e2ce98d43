// A launch by few blocks, each of which does the work of many: a kernel that waits for the link
// leaves the other SMs to whoever else uses the GPU.
#pragma once

#include "cuda/engine.hpp"

namespace cornerturn::cuda {

/// Enqueues a plan of one of plan::link::FewBlocksFamilies, on at most so many blocks.
void execute_in_few_blocks(const plan::Plan& plan, const Buffers& buffers, int blocks,
                           Stream stream);

}  // namespace cornerturn::cuda
