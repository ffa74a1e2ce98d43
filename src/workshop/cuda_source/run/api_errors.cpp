// CUDA's errors, streams and events. Every call has done its work when it returns, so that streams
// have nothing to order, and events hold the time of this machine.
#include <chrono>

#include "workshop/cuda_source/run/api.hpp"
#include "workshop/cuda_source/run/findings.hpp"
#include "workshop/cuda_source/run/launch_error.hpp"

struct CUstream_st {
  int priority;
};
struct CUevent_st {
  bool timed;
  bool recorded;
  std::chrono::steady_clock::time_point time;
};

namespace cornerturn::cuda_source {

namespace {

cudaError_t last_error = cudaSuccess;

struct ErrorWords {
  cudaError_t error;
  const char* name;
  const char* words;
};
constexpr ErrorWords error_words[] = {
    {cudaSuccess, "cudaSuccess", "no error"},
    {cudaErrorInvalidValue, "cudaErrorInvalidValue", "invalid argument"},
    {cudaErrorMemoryAllocation, "cudaErrorMemoryAllocation", "out of memory"},
    {cudaErrorInvalidConfiguration, "cudaErrorInvalidConfiguration",
     "invalid configuration argument"},
    {cudaErrorInvalidPitchValue, "cudaErrorInvalidPitchValue", "invalid pitch argument"},
    {cudaErrorInvalidSymbol, "cudaErrorInvalidSymbol", "invalid device symbol"},
    {cudaErrorInvalidDevicePointer, "cudaErrorInvalidDevicePointer", "invalid device pointer"},
    {cudaErrorInvalidMemcpyDirection, "cudaErrorInvalidMemcpyDirection",
     "invalid copy direction for memcpy"},
    {cudaErrorInvalidDevice, "cudaErrorInvalidDevice", "invalid device ordinal"},
    {cudaErrorPeerAccessUnsupported, "cudaErrorPeerAccessUnsupported",
     "peer access is not supported between these two devices"},
    {cudaErrorPeerAccessNotEnabled, "cudaErrorPeerAccessNotEnabled",
     "peer access has not been enabled"},
    {cudaErrorHostMemoryNotRegistered, "cudaErrorHostMemoryNotRegistered",
     "pointer does not correspond to a registered memory region"},
    {cudaErrorInvalidResourceHandle, "cudaErrorInvalidResourceHandle", "invalid resource handle"},
    {cudaErrorNotReady, "cudaErrorNotReady", "device not ready"},
    {cudaErrorIllegalAddress, "cudaErrorIllegalAddress",
     "an illegal memory access was encountered"},
    {cudaErrorLaunchOutOfResources, "cudaErrorLaunchOutOfResources",
     "too many resources requested for launch"},
    {cudaErrorMisalignedAddress, "cudaErrorMisalignedAddress", "misaligned address"},
    {cudaErrorAssert, "cudaErrorAssert", "device-side assert triggered"},
    {cudaErrorLaunchFailure, "cudaErrorLaunchFailure", "unspecified launch failure"},
    {cudaErrorCooperativeLaunchTooLarge, "cudaErrorCooperativeLaunchTooLarge",
     "too many blocks in cooperative launch"},
    {cudaErrorNotSupported, "cudaErrorNotSupported", "operation not supported"},
};

const ErrorWords* words_of(cudaError_t error) {
  for (const ErrorWords& row : error_words) {
    if (row.error == error) {
      return &row;
    }
  }
  return nullptr;
}

// A launch returns nothing, so that an error of it is only seen by who asks for it.
void find_unasked_error() {
  if (launch_error() == 0) {
    return;
  }
  const auto error = static_cast<cudaError_t>(launch_error());
  add_host_finding("unasked_error", true,
                   std::string("a launch left the error ") + cudaGetErrorName(error) + " (" +
                       cudaGetErrorString(error) +
                       "), and the program ended without asking for it by cudaGetLastError",
                   {});
}

[[maybe_unused]] const bool asked_at_end = (before_report(&find_unasked_error), true);

}  // namespace

cudaError_t leave_error(cudaError_t error) {
  if (error != cudaSuccess) {
    last_error = error;
  }
  return error;
}

cudaError_t misused(const std::string& kind, const std::string& message, guest::Place place,
                    cudaError_t error) {
  add_host_finding(kind, false, message, where_of(place));
  return leave_error(error);
}

}  // namespace cornerturn::cuda_source

namespace cornerturn::guest {

cudaError_t remember(cudaError_t error) {
  return cuda_source::leave_error(error);
}

}  // namespace cornerturn::guest

using namespace cornerturn::cuda_source;

cudaError_t cudaGetLastError() {
  const int of_launch = take_launch_error();
  const cudaError_t error = of_launch != 0 ? static_cast<cudaError_t>(of_launch) : last_error;
  last_error = cudaSuccess;
  return error;
}

cudaError_t cudaPeekAtLastError() {
  return launch_error() != 0 ? static_cast<cudaError_t>(launch_error()) : last_error;
}

const char* cudaGetErrorString(cudaError_t error) {
  const auto* row = words_of(error);
  return row != nullptr ? row->words : "unrecognized error code";
}

const char* cudaGetErrorName(cudaError_t error) {
  const auto* row = words_of(error);
  return row != nullptr ? row->name : "unrecognized error code";
}

// Only an error that stops a GPU is still there after the launch's own check.
cudaError_t cudaDeviceSynchronize() {
  return launch_error() >= cudaErrorIllegalAddress ? static_cast<cudaError_t>(take_launch_error())
                                                   : cudaSuccess;
}

cudaError_t cudaStreamSynchronize(cudaStream_t) {
  return cudaDeviceSynchronize();
}

cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned, int priority) {
  *stream = new CUstream_st{priority};
  return cudaSuccess;
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  if (stream == nullptr || stream == cudaStreamLegacy || stream == cudaStreamPerThread) {
    return leave_error(cudaErrorInvalidResourceHandle);
  }
  delete stream;
  return cudaSuccess;
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags) {
  *event = new CUevent_st{(flags & cudaEventDisableTiming) == 0, false, {}};
  return cudaSuccess;
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
  if (event == nullptr) {
    return leave_error(cudaErrorInvalidResourceHandle);
  }
  delete event;
  return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t) {
  if (event == nullptr) {
    return leave_error(cudaErrorInvalidResourceHandle);
  }
  event->recorded = true;
  event->time = std::chrono::steady_clock::now();
  return cudaSuccess;
}

cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t begin, cudaEvent_t end) {
  if (begin == nullptr || end == nullptr || !begin->recorded || !end->recorded || !begin->timed ||
      !end->timed) {
    return leave_error(cudaErrorInvalidResourceHandle);
  }
  *milliseconds = std::chrono::duration<float, std::milli>(end->time - begin->time).count();
  return cudaSuccess;
}
