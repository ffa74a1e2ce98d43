// The device as a program asks for it: its properties, and how many blocks it can hold.
#include <algorithm>
#include <cstring>

#include "workshop/cuda_source/run/api.hpp"
#include "workshop/cuda_source/run/config.hpp"
#include "workshop/cuda_source/run/device_memory.hpp"
#include "workshop/cuda_source/run/launch_error.hpp"

namespace cornerturn::cuda_source {

namespace {

cudaDeviceProp properties_of(const DeviceModel& device) {
  cudaDeviceProp p{};
  const std::size_t letters = std::min(device.name.size(), sizeof(p.name) - 1);
  std::memcpy(p.name, device.name.data(), letters);
  p.totalGlobalMem = device_bytes_total();
  p.sharedMemPerBlock = device.shared_block;
  p.sharedMemPerBlockOptin = device.shared_block_optin;
  p.sharedMemPerMultiprocessor = device.shared_sm;
  p.reservedSharedMemPerBlock = reserved_shared;
  p.regsPerBlock = 65536;
  p.regsPerMultiprocessor = 65536;
  p.warpSize = device.warp;
  p.memPitch = 2147483647;
  p.maxThreadsPerBlock = static_cast<int>(device.threads_block);
  p.maxThreadsDim[0] = p.maxThreadsPerBlock;
  p.maxThreadsDim[1] = p.maxThreadsPerBlock;
  p.maxThreadsDim[2] = 64;
  p.maxGridSize[0] = 2147483647;
  p.maxGridSize[1] = 65535;
  p.maxGridSize[2] = 65535;
  p.maxThreadsPerMultiProcessor = static_cast<int>(device.threads_sm);
  p.maxBlocksPerMultiProcessor = most_blocks_sm;
  p.multiProcessorCount = device.sms;
  p.clockRate = 1980000;
  p.memoryClockRate = 3201000;
  p.memoryBusWidth = 6144;
  p.l2CacheSize = 60 << 20;
  p.totalConstMem = 65536;
  p.major = 9;
  p.textureAlignment = 512;
  p.texturePitchAlignment = 32;
  p.deviceOverlap = 1;
  p.asyncEngineCount = 3;
  p.canMapHostMemory = 1;
  p.concurrentKernels = 1;
  p.unifiedAddressing = 1;
  p.streamPrioritiesSupported = 1;
  p.globalL1CacheSupported = 1;
  p.localL1CacheSupported = 1;
  p.managedMemory = 1;
  p.concurrentManagedAccess = 1;
  p.cooperativeLaunch = 1;
  return p;
}

}  // namespace

}  // namespace cornerturn::cuda_source

using namespace cornerturn::cuda_source;

cudaError_t cudaSetDevice(int device) {
  return device == 0 ? cudaSuccess : leave_error(cudaErrorInvalidDevice);
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  if (device != 0) {
    return leave_error(cudaErrorInvalidDevice);
  }
  *properties = properties_of(config().device);
  return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device) {
  if (device != 0) {
    return leave_error(cudaErrorInvalidDevice);
  }
  const cudaDeviceProp p = properties_of(config().device);
  switch (attribute) {
    case cudaDevAttrMaxThreadsPerBlock:
      *value = p.maxThreadsPerBlock;
      break;
    case cudaDevAttrMaxBlockDimX:
      *value = p.maxThreadsDim[0];
      break;
    case cudaDevAttrMaxBlockDimY:
      *value = p.maxThreadsDim[1];
      break;
    case cudaDevAttrMaxBlockDimZ:
      *value = p.maxThreadsDim[2];
      break;
    case cudaDevAttrMaxGridDimX:
      *value = p.maxGridSize[0];
      break;
    case cudaDevAttrMaxGridDimY:
      *value = p.maxGridSize[1];
      break;
    case cudaDevAttrMaxGridDimZ:
      *value = p.maxGridSize[2];
      break;
    case cudaDevAttrMaxSharedMemoryPerBlock:
      *value = static_cast<int>(p.sharedMemPerBlock);
      break;
    case cudaDevAttrMaxSharedMemoryPerBlockOptin:
      *value = static_cast<int>(p.sharedMemPerBlockOptin);
      break;
    case cudaDevAttrMaxSharedMemoryPerMultiprocessor:
      *value = static_cast<int>(p.sharedMemPerMultiprocessor);
      break;
    case cudaDevAttrReservedSharedMemoryPerBlock:
      *value = reserved_shared;
      break;
    case cudaDevAttrTotalConstantMemory:
      *value = static_cast<int>(p.totalConstMem);
      break;
    case cudaDevAttrWarpSize:
      *value = p.warpSize;
      break;
    case cudaDevAttrMaxPitch:
      *value = static_cast<int>(p.memPitch);
      break;
    case cudaDevAttrMaxRegistersPerBlock:
      *value = p.regsPerBlock;
      break;
    case cudaDevAttrMaxRegistersPerMultiprocessor:
      *value = p.regsPerMultiprocessor;
      break;
    case cudaDevAttrClockRate:
      *value = p.clockRate;
      break;
    case cudaDevAttrMemoryClockRate:
      *value = p.memoryClockRate;
      break;
    case cudaDevAttrGlobalMemoryBusWidth:
      *value = p.memoryBusWidth;
      break;
    case cudaDevAttrL2CacheSize:
      *value = p.l2CacheSize;
      break;
    case cudaDevAttrMultiProcessorCount:
      *value = p.multiProcessorCount;
      break;
    case cudaDevAttrMaxThreadsPerMultiProcessor:
      *value = p.maxThreadsPerMultiProcessor;
      break;
    case cudaDevAttrMaxBlocksPerMultiprocessor:
      *value = most_blocks_sm;
      break;
    case cudaDevAttrComputeCapabilityMajor:
      *value = p.major;
      break;
    case cudaDevAttrComputeCapabilityMinor:
      *value = p.minor;
      break;
    case cudaDevAttrAsyncEngineCount:
      *value = p.asyncEngineCount;
      break;
    case cudaDevAttrGpuOverlap:
    case cudaDevAttrCanMapHostMemory:
    case cudaDevAttrConcurrentKernels:
    case cudaDevAttrUnifiedAddressing:
    case cudaDevAttrManagedMemory:
    case cudaDevAttrConcurrentManagedAccess:
    case cudaDevAttrMemoryPoolsSupported:
    case cudaDevAttrCooperativeLaunch:
      *value = 1;
      break;
    default:
      *value = 0;
      break;
  }
  return cudaSuccess;
}

namespace cornerturn::guest {

cudaError_t allow_dynamic_shared(std::size_t bytes) {
  if (bytes > config().device.shared_block_optin) {
    return leave_error(cudaErrorInvalidValue);
  }
  allow_dynamic_shared_memory(bytes);
  return cudaSuccess;
}

// What only nvcc could tell is left 0.
cudaError_t function_attributes(cudaFuncAttributes* attributes) {
  *attributes = {};
  attributes->maxThreadsPerBlock = static_cast<int>(config().device.threads_block);
  attributes->maxDynamicSharedSizeBytes = static_cast<int>(config().device.shared_block);
  return cudaSuccess;
}

cudaError_t blocks_on_multiprocessor(int* blocks, int threads, std::size_t dynamic_shared) {
  if (threads <= 0) {
    return leave_error(cudaErrorInvalidValue);
  }
  *blocks = blocks_on_one(config().device, static_cast<unsigned>(threads), dynamic_shared);
  return cudaSuccess;
}

cudaError_t best_block(int* blocks, int* threads, std::size_t dynamic_shared, int limit) {
  const int most = static_cast<int>(config().device.threads_block);
  *threads = limit > 0 ? std::min(limit, most) : most;
  int on_one = 0;
  const cudaError_t error = blocks_on_multiprocessor(&on_one, *threads, dynamic_shared);
  *blocks = on_one * config().device.sms;
  return error;
}

}  // namespace cornerturn::guest
