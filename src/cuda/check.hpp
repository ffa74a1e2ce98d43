// Errors of the CUDA runtime as exceptions. Without fmt, which nvcc cannot compile.
#pragma once

#include <cuda_runtime_api.h>

#include <string>

#include "cornerturn/error.hpp"

namespace cornerturn::cuda {

/// Throws Error(device_error), or Error(out_of_memory), that says what was attempted.
inline void check(cudaError_t error, const std::string& what) {
  if (error == cudaSuccess) return;
  const Status status =
      error == cudaErrorMemoryAllocation ? Status::out_of_memory : Status::device_error;
  throw Error(status, what + ": " + cudaGetErrorString(error));
}

/// Checks a launch, which may be told of what earlier work on the GPU has done: that is said.
inline void check_launch(cudaError_t error) {
  switch (error) {
    case cudaSuccess:
      return;
    case cudaErrorIllegalAddress:
    case cudaErrorMisalignedAddress:
    case cudaErrorIllegalInstruction:
    case cudaErrorInvalidPc:
    case cudaErrorInvalidAddressSpace:
    case cudaErrorHardwareStackError:
    case cudaErrorLaunchFailure:
    case cudaErrorLaunchTimeout:
    case cudaErrorAssert:
    case cudaErrorECCUncorrectable:
    case cudaErrorContextIsDestroyed:
      throw Error(Status::device_error,
                  std::string("a CUDA error from before this call: ") + cudaGetErrorString(error));
    case cudaErrorNoDevice:
    case cudaErrorInsufficientDriver:
      throw Error(Status::unsupported, std::string("no GPU: ") + cudaGetErrorString(error));
    case cudaErrorInvalidResourceHandle:
      throw Error(Status::invalid_argument,
                  "stream: it is no stream of the current GPU, or has been destroyed");
    default:
      throw Error(Status::device_error, std::string("launch: ") + cudaGetErrorString(error));
  }
}

/// Checks a call that may as well be told of earlier work.
inline void check_call(cudaError_t error) {
  if (error == cudaSuccess) return;
  cudaGetLastError();
  check_launch(error);
}

}  // namespace cornerturn::cuda
