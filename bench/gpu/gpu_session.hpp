// A benchmark run on a GPU from the command line.
#pragma once

#include "gpu/accelerator.hpp"
#include "gpu/gpu_subject.hpp"
#include "harness/session.hpp"

namespace cornerturn::bench {

/// As run_session(), with the rules of GpuRunner.
int run_gpu_session(const SessionOptions& options, GpuSubject& subject, Accelerator& gpu);

}  // namespace cornerturn::bench
