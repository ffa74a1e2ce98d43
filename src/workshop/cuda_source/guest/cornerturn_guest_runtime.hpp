// CUDA's runtime as a program calls it: what ../run defines, and thin calls of it.
#pragma once

#include "cornerturn_guest_launch.hpp"
#include "cornerturn_guest_runtime_calls.hpp"

// Memory
// -------------------------------------------------------------------------------------------
template <class T>
cudaError_t cudaMalloc(T** p, std::size_t bytes, CT_GUEST_AT) {
  return ::cudaMalloc(reinterpret_cast<void**>(p), bytes, place);
}
template <class T>
cudaError_t cudaMallocManaged(T** p, std::size_t bytes, unsigned flags = cudaMemAttachGlobal,
                              CT_GUEST_AT) {
  return ::cudaMallocManaged(reinterpret_cast<void**>(p), bytes, flags, place);
}
template <class T>
cudaError_t cudaMallocHost(T** p, std::size_t bytes, unsigned flags = 0, CT_GUEST_AT) {
  return ::cudaMallocHost(reinterpret_cast<void**>(p), bytes, flags, place);
}
template <class T>
cudaError_t cudaHostAlloc(T** p, std::size_t bytes, unsigned flags, CT_GUEST_AT) {
  return ::cudaMallocHost(reinterpret_cast<void**>(p), bytes, flags, place);
}
template <class T>
cudaError_t cudaMallocPitch(T** p, std::size_t* pitch, std::size_t width, std::size_t height,
                            CT_GUEST_AT) {
  return ::cudaMallocPitch(reinterpret_cast<void**>(p), pitch, width, height, place);
}
template <class T>
cudaError_t cudaMallocAsync(T** p, std::size_t bytes, cudaStream_t, CT_GUEST_AT) {
  return ::cudaMalloc(reinterpret_cast<void**>(p), bytes, place);
}
inline cudaError_t cudaFreeAsync(void* p, cudaStream_t, CT_GUEST_AT) {
  return cudaFree(p, place);
}
inline cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes,
                                   cudaMemcpyKind kind, cudaStream_t = nullptr, CT_GUEST_AT) {
  return cudaMemcpy(to, from, bytes, kind, place);
}
inline cudaError_t cudaMemcpy2DAsync(void* to, std::size_t to_pitch, const void* from,
                                     std::size_t from_pitch, std::size_t width, std::size_t height,
                                     cudaMemcpyKind kind, cudaStream_t = nullptr, CT_GUEST_AT) {
  return cudaMemcpy2D(to, to_pitch, from, from_pitch, width, height, kind, place);
}
inline cudaError_t cudaMemcpy3DAsync(const cudaMemcpy3DParms* parameters, cudaStream_t = nullptr,
                                     CT_GUEST_AT) {
  return cudaMemcpy3D(parameters, place);
}
inline cudaError_t cudaMemsetAsync(void* p, int value, std::size_t bytes, cudaStream_t = nullptr,
                                   CT_GUEST_AT) {
  return cudaMemset(p, value, bytes, place);
}
inline cudaError_t cudaMemset2DAsync(void* p, std::size_t pitch, int value, std::size_t width,
                                     std::size_t height, cudaStream_t = nullptr, CT_GUEST_AT) {
  return cudaMemset2D(p, pitch, value, width, height, place);
}
inline cudaError_t cudaMemcpyPeer(void* to, int, const void* from, int, std::size_t bytes,
                                  CT_GUEST_AT) {
  return cudaMemcpy(to, from, bytes, cudaMemcpyDeviceToDevice, place);
}
inline cudaError_t cudaMemcpyPeerAsync(void* to, int, const void* from, int, std::size_t bytes,
                                       cudaStream_t = nullptr, CT_GUEST_AT) {
  return cudaMemcpy(to, from, bytes, cudaMemcpyDeviceToDevice, place);
}
template <class T>
cudaError_t cudaHostGetDevicePointer(T** device, void* host, unsigned) {
  *device = static_cast<T*>(host);
  return cudaSuccess;
}
inline cudaError_t cudaMemPrefetchAsync(const void*, std::size_t, int, cudaStream_t = nullptr) {
  return cudaSuccess;
}
inline cudaError_t cudaMemAdvise(const void*, std::size_t, cudaMemoryAdvise, int) {
  return cudaSuccess;
}
inline cudaError_t cudaStreamAttachMemAsync(cudaStream_t, void*, std::size_t = 0,
                                            unsigned = cudaMemAttachSingle) {
  return cudaSuccess;
}

// Symbols: __device__ and __constant__ variables, which are objects of the program.
template <class T>
cudaError_t cudaMemcpyToSymbol(const T& symbol, const void* from, std::size_t bytes,
                               std::size_t offset = 0, cudaMemcpyKind kind = cudaMemcpyHostToDevice,
                               CT_GUEST_AT) {
  return ::cornerturn::guest::copy_to_symbol(
      const_cast<void*>(static_cast<const volatile void*>(&symbol)), sizeof(T), from, bytes, offset,
      kind, place);
}
template <class T>
cudaError_t cudaMemcpyFromSymbol(void* to, const T& symbol, std::size_t bytes,
                                 std::size_t offset = 0,
                                 cudaMemcpyKind kind = cudaMemcpyDeviceToHost, CT_GUEST_AT) {
  return ::cornerturn::guest::copy_from_symbol(
      to, const_cast<const void*>(static_cast<const volatile void*>(&symbol)), sizeof(T), bytes,
      offset, kind, place);
}
template <class T>
cudaError_t cudaMemcpyToSymbolAsync(const T& symbol, const void* from, std::size_t bytes,
                                    std::size_t offset, cudaMemcpyKind kind, cudaStream_t = nullptr,
                                    CT_GUEST_AT) {
  return cudaMemcpyToSymbol(symbol, from, bytes, offset, kind, place);
}
template <class T>
cudaError_t cudaMemcpyFromSymbolAsync(void* to, const T& symbol, std::size_t bytes,
                                      std::size_t offset, cudaMemcpyKind kind,
                                      cudaStream_t = nullptr, CT_GUEST_AT) {
  return cudaMemcpyFromSymbol(to, symbol, bytes, offset, kind, place);
}
template <class P, class T>
cudaError_t cudaGetSymbolAddress(P** address, const T& symbol) {
  *address = reinterpret_cast<P*>(const_cast<std::remove_cv_t<T>*>(&symbol));
  return cudaSuccess;
}
template <class T>
cudaError_t cudaGetSymbolSize(std::size_t* size, const T&) {
  *size = sizeof(T);
  return cudaSuccess;
}

// Streams and events
// -------------------------------------------------------------------------------
inline cudaError_t cudaStreamCreate(cudaStream_t* stream) {
  return cudaStreamCreateWithPriority(stream, cudaStreamDefault, 0);
}
inline cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags) {
  return cudaStreamCreateWithPriority(stream, flags, 0);
}
inline cudaError_t cudaStreamQuery(cudaStream_t) {
  return cudaSuccess;
}
inline cudaError_t cudaStreamWaitEvent(cudaStream_t, cudaEvent_t, unsigned = 0) {
  return cudaSuccess;
}
inline cudaError_t cudaStreamGetPriority(cudaStream_t, int* priority) {
  *priority = 0;
  return cudaSuccess;
}
inline cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  *least = 0;
  *greatest = -5;
  return cudaSuccess;
}
inline cudaError_t cudaLaunchHostFunc(cudaStream_t, cudaHostFn_t function, void* data) {
  function(data);
  return cudaSuccess;
}
inline cudaError_t cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t function,
                                         void* data, unsigned) {
  function(stream, cudaSuccess, data);
  return cudaSuccess;
}
inline cudaError_t cudaEventCreate(cudaEvent_t* event) {
  return cudaEventCreateWithFlags(event, cudaEventDefault);
}
inline cudaError_t cudaEventCreate(cudaEvent_t* event, unsigned flags) {
  return cudaEventCreateWithFlags(event, flags);
}
inline cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned = 0) {
  return cudaEventRecord(event, stream);
}
inline cudaError_t cudaEventSynchronize(cudaEvent_t) {
  return cudaSuccess;
}
inline cudaError_t cudaEventQuery(cudaEvent_t) {
  return cudaSuccess;
}

// Devices
// ------------------------------------------------------------------------------------------
inline cudaError_t cudaGetDeviceCount(int* count) {
  *count = 1;
  return cudaSuccess;
}
inline cudaError_t cudaGetDevice(int* device) {
  *device = 0;
  return cudaSuccess;
}
inline cudaError_t cudaChooseDevice(int* device, const cudaDeviceProp*) {
  *device = 0;
  return cudaSuccess;
}
inline cudaError_t cudaInitDevice(int, unsigned, unsigned) {
  return cudaSuccess;
}
inline cudaError_t cudaDriverGetVersion(int* version) {
  *version = CUDART_VERSION;
  return cudaSuccess;
}
inline cudaError_t cudaRuntimeGetVersion(int* version) {
  *version = CUDART_VERSION;
  return cudaSuccess;
}
inline cudaError_t cudaThreadSynchronize() {
  return cudaDeviceSynchronize();
}
inline cudaError_t cudaThreadExit() {
  return cudaDeviceReset();
}
inline cudaError_t cudaSetDeviceFlags(unsigned) {
  return cudaSuccess;
}
inline cudaError_t cudaDeviceSetLimit(cudaLimit, std::size_t) {
  return cudaSuccess;
}
inline cudaError_t cudaDeviceSetCacheConfig(cudaFuncCache) {
  return cudaSuccess;
}
inline cudaError_t cudaDeviceSetSharedMemConfig(cudaSharedMemConfig) {
  return cudaSuccess;
}
inline cudaError_t cudaCtxResetPersistingL2Cache() {
  return cudaSuccess;
}
inline cudaError_t cudaProfilerStart() {
  return cudaSuccess;
}
inline cudaError_t cudaProfilerStop() {
  return cudaSuccess;
}
// There is one device, so that no other one can be reached from it.
inline cudaError_t cudaDeviceCanAccessPeer(int* can, int, int) {
  *can = 0;
  return cudaSuccess;
}
inline cudaError_t cudaDeviceGetP2PAttribute(int* value, cudaDeviceP2PAttr, int, int) {
  *value = 0;
  return cudaSuccess;
}
inline cudaError_t cudaDeviceEnablePeerAccess(int, unsigned) {
  return ::cornerturn::guest::remember(cudaErrorPeerAccessUnsupported);
}
inline cudaError_t cudaDeviceDisablePeerAccess(int) {
  return ::cornerturn::guest::remember(cudaErrorPeerAccessNotEnabled);
}

// Functions
// ----------------------------------------------------------------------------------------
template <class F>
cudaError_t cudaFuncSetAttribute(F*, cudaFuncAttribute attribute, int value) {
  return attribute == cudaFuncAttributeMaxDynamicSharedMemorySize
             ? ::cornerturn::guest::allow_dynamic_shared(static_cast<std::size_t>(value))
             : cudaSuccess;
}
template <class F>
cudaError_t cudaFuncSetCacheConfig(F*, cudaFuncCache) {
  return cudaSuccess;
}
template <class F>
cudaError_t cudaFuncSetSharedMemConfig(F*, cudaSharedMemConfig) {
  return cudaSuccess;
}
template <class F>
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, F*) {
  return ::cornerturn::guest::function_attributes(attributes);
}
template <class F>
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, F*, int threads,
                                                          std::size_t dynamic_shared) {
  return ::cornerturn::guest::blocks_on_multiprocessor(blocks, threads, dynamic_shared);
}
template <class F>
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, F*, int threads,
                                                                   std::size_t dynamic_shared,
                                                                   unsigned) {
  return ::cornerturn::guest::blocks_on_multiprocessor(blocks, threads, dynamic_shared);
}
template <class F>
cudaError_t cudaOccupancyMaxPotentialBlockSize(int* blocks, int* threads, F*,
                                               std::size_t dynamic_shared = 0, int limit = 0) {
  return ::cornerturn::guest::best_block(blocks, threads, dynamic_shared, limit);
}
template <class Bytes, class F>
cudaError_t cudaOccupancyMaxPotentialBlockSizeVariableSMem(int* blocks, int* threads, F*,
                                                           Bytes bytes, int limit = 0) {
  const int most = limit > 0 && limit < 1024 ? limit : 1024;
  return ::cornerturn::guest::best_block(blocks, threads, static_cast<std::size_t>(bytes(most)),
                                         limit);
}

// The front end writes these for cudaLaunchKernel and cudaLaunchCooperativeKernel.
namespace cornerturn::guest {
template <class... A>
cudaError_t launch_by_address(Place place, const char* name, void (*kernel)(A...), dim3 grid,
                              dim3 block, void** arguments, std::size_t dynamic_shared = 0,
                              cudaStream_t stream = nullptr) {
  launch_by_pointer(place, name, kernel, config(grid, block, dynamic_shared, stream), arguments,
                    false);
  return cudaPeekAtLastError();
}
template <class... A>
cudaError_t launch_cooperative(Place place, const char* name, void (*kernel)(A...), dim3 grid,
                               dim3 block, void** arguments, std::size_t dynamic_shared = 0,
                               cudaStream_t stream = nullptr) {
  launch_by_pointer(place, name, kernel, config(grid, block, dynamic_shared, stream), arguments,
                    true);
  return cudaPeekAtLastError();
}
}  // namespace cornerturn::guest
