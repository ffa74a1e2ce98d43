// Memory of the GPU, and the events and streams that timing needs, released at the end of scope.
#pragma once

#include <cstddef>
#include <cstdint>
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

/// Two events around some work.
class Stopwatch {
 public:
  Stopwatch() {
    check(cudaEventCreate(&first_), "cudaEventCreate");
    check(cudaEventCreate(&last_), "cudaEventCreate");
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

 private:
  cudaEvent_t first_ = nullptr;
  cudaEvent_t last_ = nullptr;
};

}  // namespace cornerturn::cuda
