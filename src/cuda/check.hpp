// Errors of the CUDA runtime as exceptions. Without fmt, which nvcc cannot compile.
#pragma once

#include <cuda_runtime_api.h>

#include <string>

#include "cornerturn/error.hpp"

namespace cornerturn::cuda {

/// Throws Error(internal), or Error(out_of_memory), that says what was attempted.
inline void check(cudaError_t error, const std::string& what) {
  if (error == cudaSuccess) return;
  const Status status =
      error == cudaErrorMemoryAllocation ? Status::out_of_memory : Status::internal;
  throw Error(status, what + ": " + cudaGetErrorString(error));
}

}  // namespace cornerturn::cuda
