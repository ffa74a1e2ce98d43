#include <algorithm>
#include <atomic>
#include <mutex>
#include <vector>

#include "cuda/engine_kernels.hpp"
#include "cuda/launch.cuh"
#include "kernels/amax.hpp"

namespace cornerturn::cuda {
namespace {

// Of calls at one time.
constexpr unsigned slots = 16;
__device__ std::uint64_t found[slots][plan::gpu::most_amax_blocks];
std::mutex slot_in_use[slots];

}  // namespace

void launch_kernel(const kernels::AmaxArgs& args, const Launch& shape, Stream stream) {
  launch(args, shape, stream);
}

std::uint64_t largest_magnitude(const plan::gpu::AmaxWork& work, Stream stream) {
  static std::atomic<unsigned> turn = 0;
  const unsigned slot = turn.fetch_add(1, std::memory_order_relaxed) % slots;
  const std::lock_guard<std::mutex> lock(slot_in_use[slot]);
  void* first = nullptr;
  check(cudaGetSymbolAddress(&first, found), "the address of what amax leaves");
  kernels::AmaxArgs args = work.args;
  args.found = static_cast<std::uint64_t*>(first) + slot * plan::gpu::most_amax_blocks;
  launch_kernel(args, work.launch, stream);

  std::vector<std::uint64_t> of_blocks(work.launch.grid.x);
  cudaError_t error =
      cudaMemcpyAsync(of_blocks.data(), args.found, of_blocks.size() * sizeof of_blocks[0],
                      cudaMemcpyDeviceToHost, stream);
  if (error == cudaSuccess) error = cudaStreamSynchronize(stream);
  if (error != cudaSuccess) {
    cudaGetLastError();
    throw Error(Status::device_error,
                std::string("amax waits for the stream: ") + cudaGetErrorString(error));
  }
  return *std::max_element(of_blocks.begin(), of_blocks.end());
}

}  // namespace cornerturn::cuda
