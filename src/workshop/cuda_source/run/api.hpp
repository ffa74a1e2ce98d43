// What the parts of CUDA's runtime share: how a call fails, and what is said of it.
#pragma once

#include <string>

#include "workshop/cuda_source/guest/cornerturn_guest_runtime_calls.hpp"
#include "workshop/cuda_source/run/where.hpp"

namespace cornerturn::cuda_source {

inline Where where_of(guest::Place place) {
  return {place.file, place.line, 0};
}

/// A call that returns `error` leaves it for cudaGetLastError as well.
cudaError_t leave_error(cudaError_t error);

/// A call that cannot be meant: a finding with the caller's place, and `error` is what it returns.
cudaError_t misused(const std::string& kind, const std::string& message, guest::Place place,
                    cudaError_t error);

}  // namespace cornerturn::cuda_source
