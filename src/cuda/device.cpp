#include "cuda/device.hpp"

#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include "cuda/check.hpp"
#include "cuda/some_kernel.hpp"

namespace cornerturn::cuda {

namespace {

std::string version(int number) {
  return fmt::format("{}.{}", number / 1000, number % 1000 / 10);
}

int attribute(cudaDeviceAttr which, int device) {
  int value = 0;
  check(cudaDeviceGetAttribute(&value, which, device), "cudaDeviceGetAttribute");
  return value;
}

}  // namespace

std::optional<std::string> why_no_gpu() {
  int driver = 0;
  if (cudaDriverGetVersion(&driver) != cudaSuccess || driver == 0) {
    return "no NVIDIA driver is installed here";
  }
  int count = 0;
  if (const cudaError_t error = cudaGetDeviceCount(&count); error != cudaSuccess || count == 0) {
    cudaGetLastError();
    if (error == cudaErrorInsufficientDriver) {
      return fmt::format("the driver supports CUDA {}, this build needs {}: update the driver",
                         version(driver), version(CUDART_VERSION));
    }
    if (error == cudaErrorNoDevice || error == cudaSuccess) return "the driver sees no GPU";
    return fmt::format("the driver sees no GPU: {}", cudaGetErrorString(error));
  }
  cudaFuncAttributes attributes;
  if (const cudaError_t error = cudaFuncGetAttributes(&attributes, some_kernel());
      error != cudaSuccess) {
    cudaGetLastError();
    cudaDeviceProp properties;
    int device = 0;
    if (error == cudaErrorNoKernelImageForDevice && cudaGetDevice(&device) == cudaSuccess &&
        cudaGetDeviceProperties(&properties, device) == cudaSuccess) {
      return fmt::format(
          "this build has no code for {} (compute capability {}.{}): configure with "
          "CMAKE_CUDA_ARCHITECTURES={}{}",
          properties.name, properties.major, properties.minor, properties.major, properties.minor);
    }
    return fmt::format("the GPU does not answer: {}", cudaGetErrorString(error));
  }
  return std::nullopt;
}

int device_count() {
  int count = 0;
  if (cudaGetDeviceCount(&count) != cudaSuccess) {
    cudaGetLastError();
    return 0;
  }
  return count;
}

DeviceInfo device_info() {
  if (const auto why = why_no_gpu()) throw Error(Status::unsupported, "no GPU: " + *why);
  int device = 0;
  check(cudaGetDevice(&device), "cudaGetDevice");
  DeviceInfo info = device_info(device);
  std::size_t free_bytes = 0;
  std::size_t total_bytes = 0;
  check(cudaMemGetInfo(&free_bytes, &total_bytes), "cudaMemGetInfo");
  info.memory_bytes = static_cast<std::int64_t>(total_bytes);
  info.free_bytes = static_cast<std::int64_t>(free_bytes);
  return info;
}

Clocks clocks_of(int device) {
  // Two transfers a clock; kHz and bits.
  return {1e3 * attribute(cudaDevAttrClockRate, device),
          2e3 * attribute(cudaDevAttrMemoryClockRate, device) *
              attribute(cudaDevAttrGlobalMemoryBusWidth, device) / 8};
}

DeviceInfo device_info(int device) {
  DeviceInfo info = device_info_without_clocks(device);
  info.clocks = clocks_of(device);
  return info;
}

DeviceInfo device_info_without_clocks(int device) {
  cudaDeviceProp properties;
  check(cudaGetDeviceProperties(&properties, device), "cudaGetDeviceProperties");
  int driver = 0;
  check(cudaDriverGetVersion(&driver), "cudaDriverGetVersion");

  DeviceInfo info;
  info.name = properties.name;
  info.major = properties.major;
  info.minor = properties.minor;
  info.sm_count = properties.multiProcessorCount;
  info.l2_bytes = properties.l2CacheSize;
  info.memory_bytes = static_cast<std::int64_t>(properties.totalGlobalMem);
  info.threads_per_sm = properties.maxThreadsPerMultiProcessor;
  info.blocks_per_sm = properties.maxBlocksPerMultiProcessor;
  info.registers_per_sm = properties.regsPerMultiprocessor;
  info.shared_per_sm = static_cast<std::int64_t>(properties.sharedMemPerMultiprocessor);
  info.shared_per_block = static_cast<std::int64_t>(properties.sharedMemPerBlockOptin);
  info.driver = version(driver);
  info.runtime = version(CUDART_VERSION);
  return info;
}

}  // namespace cornerturn::cuda
