// Cornerturn's GPU engine as a subject, candidates and all.
#pragma once

#include <memory>
#include <string>

#include "gpu/gpu_subject.hpp"

namespace cornerturn::bench {

/// Plans for the GPU that this process would use. `kernel` forces one by name; empty: the planner
/// chooses. Throws Error(unsupported) in a build without device code.
std::unique_ptr<GpuSubject> engine_subject(const std::string& kernel);

}  // namespace cornerturn::bench
