// Launches a kernel of the engine: one function for all of them, instantiated in one file a family.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <atomic>
#include <string>
#include <type_traits>
#include <utility>

#include "cuda/check.hpp"
#include "cuda/engine_kernels.hpp"
#include "kernels/gpu_context.cuh"
#include "plan/gpu/bind.hpp"

namespace cornerturn::cuda {

// What an SM can hold, and so the blocks that may be asked for.
#if defined(__CUDA_ARCH__) && (__CUDA_ARCH__ == 860 || __CUDA_ARCH__ == 870)
inline constexpr int threads_of_sm = 1536, most_blocks_of_sm = 16;
#elif defined(__CUDA_ARCH__) && (__CUDA_ARCH__ == 890 || __CUDA_ARCH__ >= 1200)
inline constexpr int threads_of_sm = 1536, most_blocks_of_sm = 24;
#else
inline constexpr int threads_of_sm = 2048, most_blocks_of_sm = 32;
#endif
template <class Kernel>
inline constexpr int blocks_of_sm = std::min({Kernel::min_blocks, threads_of_sm / Kernel::threads,
                                              most_blocks_of_sm});

template <class Kernel, class Args>
__global__ void __launch_bounds__(Kernel::threads, blocks_of_sm<Kernel>)
    engine_kernel(const __grid_constant__ Args args) {
  GpuContext ctx;
  Kernel::run(ctx, args);
}

// More than 48 KiB of shared memory must be asked for, once a kernel and device. Each kernel has a
// tag of its own.
template <class Tag>
void allow_shared(const void* kernel, unsigned bytes) {
  if (bytes <= 48U * 1024U) return;
  constexpr int most_devices = 64;
  static std::atomic<unsigned> allowed[most_devices];
  int device = 0;
  check(cudaGetDevice(&device), "cudaGetDevice");
  std::atomic<unsigned>& known = allowed[device % most_devices];
  if (known.load(std::memory_order_acquire) >= bytes) return;
  check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                             static_cast<int>(bytes)),
        "shared memory of " + std::to_string(bytes) + " bytes a block");
  known.store(bytes, std::memory_order_release);
}

// Whether a kernel was launched in this process. Each kernel has a tag of its own.
template <class Tag>
inline std::atomic<bool> was_launched = false;

inline void launch_kernel(const void* kernel, const Launch& launch, void** parameters,
                          cudaStream_t stream) {
  const auto dim = [](const Dim3& d) { return dim3(d.x, d.y, d.z); };
  // Its own answer, not cudaGetLastError's: that may still hold what somebody else left there.
  const cudaError_t error = cudaLaunchKernel(kernel, dim(launch.grid), dim(launch.block),
                                             parameters, launch.dynamic_shared, stream);
  if (error != cudaSuccess) {
    cudaGetLastError();
    check_launch(error);
  }
}

template <class AllArgs>
void launch(const AllArgs& all, const Launch& launch, cudaStream_t stream) {
  dispatch(all, [&]<class Kernel>() {
    const auto& args = plan::gpu::args_for<Kernel>(all);
    using Args = std::remove_cvref_t<decltype(args)>;
    const auto* kernel = reinterpret_cast<const void*>(engine_kernel<Kernel, Args>);
    using Tag = std::pair<Kernel, Args>;
    allow_shared<Tag>(kernel, launch.dynamic_shared);
    void* parameters[] = {const_cast<Args*>(&args)};
    launch_kernel(kernel, launch, parameters, stream);
    // A variable that all threads only read stays in all their caches.
    if (!was_launched<Tag>.load(std::memory_order_relaxed)) was_launched<Tag>.store(true);
  });
}

template <class Family>
void launch_family(const plan::Plan& plan, const Buffers& buffers, Stream stream) {
  plan::gpu::for_each_launch<Family>(
      plan, buffers, [&](const auto& args, const Launch& one) { launch(args, one, stream); });
}

template <class Family>
bool family_is_loaded(const plan::Plan& plan) {
  bool loaded = true;
  for (const plan::Prepared* one = &plan.ready; one != nullptr; one = one->then.get()) {
    dispatch(one->template args_of<Family>(), [&]<class Kernel>() {
      using Args = std::remove_cvref_t<decltype(plan::gpu::args_for<Kernel>(
          one->template args_of<Family>()))>;
      loaded = loaded && was_launched<std::pair<Kernel, Args>>.load(std::memory_order_relaxed);
    });
  }
  return loaded;
}

}  // namespace cornerturn::cuda
