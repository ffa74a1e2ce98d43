// Blocks made of values in files, and values of blocks, through the GPU.
#pragma once

#include "io/rearrange_blocks.hpp"

namespace cornerturn::io {

/// As make_gpu_schedule().
BlockSchedule make_gpu_block_schedule(const BlockTask& task, std::int64_t memory, bool in_order);

/// As rearrange_blocks(), on the current GPU. Throws Error(unsupported) where there is none.
void rearrange_blocks_on_gpu(const BlockTask& task, const BlockSchedule& schedule,
                             const std::vector<Source>& sources, const std::vector<Sink>& sinks,
                             const BlockOptions& options, Progress& progress);

}  // namespace cornerturn::io
