// The kernels of src/workshop/cuda/cute on the host, block by block and thread by thread. A block's
// threads run one after the other and twice over: what a kernel does before its barrier is done by
// all of them when the second round comes to what is behind it. Shared memory is static, so it
// stays.
#pragma once

#include <cstdint>
#include <cstring>
#include <cute/tensor.hpp>

#include "workshop/cuda/cute/rungs.hpp"

struct Index {
  unsigned x = 0;
};
inline Index threadIdx;
inline Index blockIdx;

inline void __syncthreads() {}

#undef __shared__
#define __shared__ static
#undef __launch_bounds__
#define __launch_bounds__(threads)

// cp.async is an ordinary copy here.
#define SM80_CP_ASYNC_CACHEALWAYS cute::UniversalCopy

namespace cornerturn::with_cute {

template <class Kernel, class Tile, class Shape, class Threads, class... Args>
cudaError_t launch_tiles(const Call& call, Kernel kernel, Tile tile, Shape shape, Threads threads,
                         const Args&... args) {
  const std::int64_t tiles = cute::size(cute::ceil_div(shape, tile));
  for (blockIdx.x = 0; blockIdx.x < tiles; ++blockIdx.x) {
    for (int round = 0; round < 2; ++round) {
      for (threadIdx.x = 0; threadIdx.x < unsigned{cute::size(threads)}; ++threadIdx.x) {
        kernel(args()...);
      }
    }
  }
  (void)call;
  return cudaSuccess;
}

}  // namespace cornerturn::with_cute
