// The functions of CUDA's runtime that ../run defines. The last parameter is the caller's place,
// which nobody writes.
#pragma once

#include "cornerturn_guest_abi.hpp"
#include "cornerturn_guest_runtime_types.hpp"

namespace cornerturn::guest {

/// The line of the call whose default argument this is. g++ gives that line only for builtins that
/// are a default argument by themselves.
constexpr Place here(const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  return {file, static_cast<unsigned>(line)};
}

}  // namespace cornerturn::guest

#define CT_GUEST_AT ::cornerturn::guest::Place place = ::cornerturn::guest::here()

// Memory
cudaError_t cudaMalloc(void** p, std::size_t bytes, CT_GUEST_AT);
cudaError_t cudaMallocManaged(void** p, std::size_t bytes, unsigned flags = cudaMemAttachGlobal,
                              CT_GUEST_AT);
cudaError_t cudaMallocHost(void** p, std::size_t bytes, unsigned flags = 0, CT_GUEST_AT);
cudaError_t cudaMallocPitch(void** p, std::size_t* pitch, std::size_t width, std::size_t height,
                            CT_GUEST_AT);
cudaError_t cudaMalloc3D(cudaPitchedPtr* p, cudaExtent extent, CT_GUEST_AT);
cudaError_t cudaFree(void* p, CT_GUEST_AT);
cudaError_t cudaFreeHost(void* p, CT_GUEST_AT);
cudaError_t cudaMemset(void* p, int value, std::size_t bytes, CT_GUEST_AT);
cudaError_t cudaMemset2D(void* p, std::size_t pitch, int value, std::size_t width,
                         std::size_t height, CT_GUEST_AT);
cudaError_t cudaMemset3D(cudaPitchedPtr p, int value, cudaExtent extent, CT_GUEST_AT);
cudaError_t cudaMemcpy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind,
                       CT_GUEST_AT);
cudaError_t cudaMemcpy2D(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch,
                         std::size_t width, std::size_t height, cudaMemcpyKind kind, CT_GUEST_AT);
cudaError_t cudaMemcpy3D(const cudaMemcpy3DParms* parameters, CT_GUEST_AT);
cudaError_t cudaMemGetInfo(std::size_t* free, std::size_t* total);
cudaError_t cudaHostRegister(void* p, std::size_t bytes, unsigned flags);
cudaError_t cudaHostUnregister(void* p);
cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* p);

// Streams and events. Everything has happened when a call returns, so there is nothing to wait for.
cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned flags, int priority);
cudaError_t cudaStreamDestroy(cudaStream_t stream);
cudaError_t cudaStreamSynchronize(cudaStream_t stream);
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags);
cudaError_t cudaEventDestroy(cudaEvent_t event);
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream = nullptr);
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t begin, cudaEvent_t end);

// Devices and errors
cudaError_t cudaDeviceSynchronize();
cudaError_t cudaDeviceReset(CT_GUEST_AT);
cudaError_t cudaGetLastError();
cudaError_t cudaPeekAtLastError();
const char* cudaGetErrorString(cudaError_t error);
const char* cudaGetErrorName(cudaError_t error);
cudaError_t cudaSetDevice(int device);
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device);
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device);

namespace cornerturn::guest {

// Symbols: `size` bytes lie at `symbol`.
cudaError_t copy_to_symbol(void* symbol, std::size_t size, const void* from, std::size_t bytes,
                           std::size_t offset, cudaMemcpyKind kind, Place place);
cudaError_t copy_from_symbol(void* to, const void* symbol, std::size_t size, std::size_t bytes,
                             std::size_t offset, cudaMemcpyKind kind, Place place);

// Functions of which only the attributes count.
cudaError_t allow_dynamic_shared(std::size_t bytes);
cudaError_t function_attributes(cudaFuncAttributes* attributes);
cudaError_t blocks_on_multiprocessor(int* blocks, int threads, std::size_t dynamic_shared);
cudaError_t best_block(int* blocks, int* threads, std::size_t dynamic_shared, int limit);
// The error that a call returns is also the one that cudaGetLastError will return.
cudaError_t remember(cudaError_t error);

}  // namespace cornerturn::guest
