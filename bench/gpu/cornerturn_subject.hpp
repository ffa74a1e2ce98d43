// Cornerturn on a GPU as a subject: a plan made once a case, and executed.
#pragma once

#include <memory>

#include "cornerturn/cornerturn.hpp"
#include "gpu/gpu_subject.hpp"

namespace cornerturn::bench {

/// `options` say which kernel and how much effort.
std::unique_ptr<GpuSubject> cornerturn_on_gpu(const Options& options);

}  // namespace cornerturn::bench
