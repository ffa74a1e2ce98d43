// How a CuTe rung starts its kernel.
#pragma once

#include <cstdint>
#include <cute/int_tuple.hpp>
#include <limits>

#include "workshop/cuda/cute/rungs.hpp"

namespace cornerturn::with_cute {

/// One block a tile; `args` are functions that make the kernel's arguments, for the launch alone.
/// Nothing is launched for a matrix without elements.
template <class Kernel, class Tile, class Shape, class Threads, class... Args>
cudaError_t launch_tiles(const Call& call, Kernel kernel, Tile tile, Shape shape, Threads threads,
                         const Args&... args) {
  const std::int64_t tiles = cute::size(cute::ceil_div(shape, tile));
  if (call.shape != nullptr) {
    *call.shape = {reinterpret_cast<const void*>(kernel), tiles, int{cute::size(threads)}, 0};
    return cudaSuccess;
  }
  if (tiles == 0) return cudaSuccess;
  if (tiles > std::numeric_limits<int>::max()) return cudaErrorInvalidConfiguration;
  kernel<<<static_cast<unsigned>(tiles), unsigned{cute::size(threads)}, 0, call.stream>>>(
      args()...);
  return cudaGetLastError();
}

}  // namespace cornerturn::with_cute
