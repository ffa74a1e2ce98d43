// Carries a schedule out on the GPU: from a file or memory, through the GPU, to a file.
#pragma once

#include "io/rearrange.hpp"

namespace cornerturn::io {

/// Boxes in work at the same time: while one is read, another is on the GPU or on the way there or
/// back, and a third is written.
inline constexpr int gpu_lanes = 3;
/// For the pinned buffers, where no limit is given: keeps the copies long.
inline constexpr std::int64_t usual_gpu_memory = std::int64_t{400} << 20;

/// The schedule for the GPU. `memory` is for the pinned buffers; 0: usual_gpu_memory.
/// With stochastic rounding the boxes are contiguous in the result, and written in order.
Schedule make_gpu_schedule(const Problem& problem, std::int64_t memory, bool in_order,
                           const FileConversion& conversion = {});

/// As rearrange(), on the current GPU. Throws Error(unsupported) where there is none.
void rearrange_on_gpu(const Schedule& schedule, const Source& source, const Sink& sink,
                      const Options& options, Progress& progress,
                      const FileConversion& conversion = {});

/// As box_plan().
Plan gpu_box_plan(const Schedule& schedule, const Options& options,
                  const FileConversion& conversion = {});

}  // namespace cornerturn::io
