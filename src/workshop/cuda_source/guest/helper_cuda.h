// Checks of CUDA's errors and the choice of a device, by the names that sample programs use.
#pragma once

#include <cstdio>
#include <cstdlib>

#include "cornerturn_guest.hpp"
#include "helper_string.h"

// Errors of CUDA's libraries are checked by the same macro.
template <class Error>
void cornerturn_check(Error error, const char* call, const char* file, int line) {
  if (static_cast<int>(error) == 0) {
    return;
  }
  const auto as_runtime = static_cast<cudaError_t>(error);
  const bool of_runtime = std::is_same_v<Error, cudaError_t>;
  std::fprintf(stderr, "%s:%d: %s: %s (%d)\n", file, line, call,
               of_runtime ? cudaGetErrorString(as_runtime) : "an error of a library",
               static_cast<int>(error));
  std::exit(EXIT_FAILURE);
}
inline const char* _cudaGetErrorEnum(cudaError_t error) {
  return cudaGetErrorName(error);
}
#define checkCudaErrors(call) cornerturn_check((call), #call, __FILE__, __LINE__)
#define getLastCudaError(message) cornerturn_check(cudaGetLastError(), message, __FILE__, __LINE__)
#define printLastCudaError(message) getLastCudaError(message)

#ifndef MAX
#define MAX(a, b) ((a) > (b) ? (a) : (b))
#endif
#ifndef MIN
#define MIN(a, b) ((a) < (b) ? (a) : (b))
#endif

inline int ftoi(float value) {
  return static_cast<int>(value >= 0 ? value + 0.5 : value - 0.5);
}
inline int _ConvertSMVer2Cores(int, int) {
  return 128;
}
inline const char* _ConvertSMVer2ArchName(int, int) {
  return "GPU";
}
inline int gpuGetMaxGflopsDeviceId() {
  return 0;
}
inline int gpuDeviceInit(int) {
  return 0;
}
inline int findCudaDevice(int, const char**) {
  return 0;
}
inline int findIntegratedGPU() {
  return -1;
}
inline bool checkCudaCapabilities(int, int) {
  return true;
}
