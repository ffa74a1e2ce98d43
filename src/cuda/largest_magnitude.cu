#include <algorithm>
#include <atomic>
#include <mutex>
#include <vector>

#include "cuda/check.hpp"
#include "cuda/engine.hpp"
#include "plan/gpu/amax.hpp"

namespace cornerturn::cuda {
namespace {

// So many calls have results at one time.
constexpr unsigned slots = 16;
__device__ std::uint64_t found[slots][plan::gpu::most_amax_blocks];
std::mutex slot_in_use[slots];

}  // namespace

std::uint64_t largest_magnitude(const plan::Plan& plan, const void* src, Stream stream) {
  static std::atomic<unsigned> next = 0;
  const unsigned slot = next.fetch_add(1, std::memory_order_relaxed) % slots;
  const std::lock_guard<std::mutex> lock(slot_in_use[slot]);
  void* first = nullptr;
  check(cudaGetSymbolAddress(&first, found), "the address of what amax leaves");
  auto* const own = static_cast<std::uint64_t*>(first) + slot * plan::gpu::most_amax_blocks;
  execute(plan, {own, src}, stream);

  std::vector<std::uint64_t> of_blocks(static_cast<std::size_t>(plan.ready.launch.grid.count()));
  cudaError_t error = cudaMemcpyAsync(of_blocks.data(), own, of_blocks.size() * sizeof of_blocks[0],
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
