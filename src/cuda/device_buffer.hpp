// Memory of the GPU, and the events and streams that timing needs, released at the end of scope.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>

#include "cuda/check.hpp"
#include "cuda/stream.hpp"

namespace cornerturn::cuda {

class DeviceBuffer {
 public:
  DeviceBuffer() = default;
  explicit DeviceBuffer(std::int64_t bytes) {
    const auto size = static_cast<std::size_t>(bytes);
    if (bytes > 0 && cudaMalloc(&at_, size) != cudaSuccess) {
      cudaGetLastError();
      std::size_t free_bytes = 0;
      std::size_t total = 0;
      cudaMemGetInfo(&free_bytes, &total);
      throw Error(Status::out_of_memory, "too little GPU memory: " + std::to_string(size) +
                                             " bytes asked for, " + std::to_string(free_bytes) +
                                             " free");
    }
  }
  ~DeviceBuffer() { cudaFree(at_); }
  DeviceBuffer(DeviceBuffer&& other) noexcept : at_(std::exchange(other.at_, nullptr)) {}
  DeviceBuffer& operator=(DeviceBuffer&& other) noexcept {
    std::swap(at_, other.at_);
    return *this;
  }

  std::byte* get() const { return static_cast<std::byte*>(at_); }

 private:
  void* at_ = nullptr;
};

class OwnStream {
 public:
  OwnStream() {
    check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cudaStreamCreate");
  }
  ~OwnStream() { cudaStreamDestroy(stream_); }
  OwnStream(const OwnStream&) = delete;
  OwnStream& operator=(const OwnStream&) = delete;
  operator Stream() const { return stream_; }

 private:
  Stream stream_ = nullptr;
};

/// While it lives, this thread may ask how far streams are though others are being captured: that
/// would end a capture of the strictest mode, whichever thread began it.
class RelaxedCapture {
 public:
  RelaxedCapture() { cudaThreadExchangeStreamCaptureMode(&mode_); }
  ~RelaxedCapture() { cudaThreadExchangeStreamCaptureMode(&mode_); }
  RelaxedCapture(const RelaxedCapture&) = delete;
  RelaxedCapture& operator=(const RelaxedCapture&) = delete;

 private:
  cudaStreamCaptureMode mode_ = cudaStreamCaptureModeRelaxed;  // then the one from before
};

/// Has the GPU come to an event? Also yes where that cannot be known: what went wrong is said by
/// others.
inline bool is_done(cudaEvent_t event) {
  const RelaxedCapture relaxed;
  const cudaError_t error = cudaEventQuery(event);
  if (error != cudaSuccess) cudaGetLastError();
  return error != cudaErrorNotReady;
}

/// Two events around some work.
class Stopwatch {
 public:
  Stopwatch() {
    check(cudaEventCreate(&first_), "cudaEventCreate");
    const cudaError_t error = cudaEventCreate(&last_);
    if (error != cudaSuccess) cudaEventDestroy(first_);
    check(error, "cudaEventCreate");
  }
  ~Stopwatch() {
    cudaEventDestroy(first_);
    cudaEventDestroy(last_);
  }
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;

  void start(Stream stream) { check(cudaEventRecord(first_, stream), "cudaEventRecord"); }
  void stop(Stream stream) { check(cudaEventRecord(last_, stream), "cudaEventRecord"); }
  /// Waits until the work is done.
  double seconds() {
    float milliseconds = 0;
    check(cudaEventSynchronize(last_), "cudaEventSynchronize");
    check(cudaEventElapsedTime(&milliseconds, first_, last_), "cudaEventElapsedTime");
    return milliseconds * 1e-3;
  }
  /// Has the GPU come to the first event?
  bool has_started() const { return is_done(first_); }
  /// Waits for nothing. Infinity where that cannot be known: what went wrong is said by others.
  std::optional<double> seconds_if_done() const {
    if (!is_done(last_)) return std::nullopt;
    float milliseconds = 0;
    if (cudaEventElapsedTime(&milliseconds, first_, last_) == cudaSuccess) {
      return milliseconds * 1e-3;
    }
    cudaGetLastError();
    return std::numeric_limits<double>::infinity();
  }

 private:
  cudaEvent_t first_ = nullptr;
  cudaEvent_t last_ = nullptr;
};

}  // namespace cornerturn::cuda
