// Tiles by TMA: one thread of a block asks the copy engine for a box of the matrix, and the engine
// writes the tile, or reads it. What of the box lies outside the matrix is zero, or not written.
#pragma once

#include <cutlass/arch/barrier.h>

#include "workshop/cuda/cute/matrix.cuh"

namespace cornerturn::with_cute {

// CuTe's barriers and fences do not tell the compiler that they are about memory.
__device__ inline void keep_order() {
  asm volatile("" ::: "memory");
}

/// The engine xors the address, and so does CuTe's pointer into such a tile. For the threads the
/// xor goes into the layout, as the tile begins where the pattern does: then the compiler sees that
/// the address is one of shared memory.
template <class Tile>
__device__ auto for_threads(const Tile& tile) {
  return as_position_independent_swizzle_tensor(tile);
}

/// The engine writes the tile; all threads of the block wait for it.
template <class Load, class Box, class Tile>
__device__ void tma_fill(const Load& load, const Box& box, const Tile& tile) {
  alignas(8) __shared__ std::uint64_t arrived;
  if (threadIdx.x == 0) {
    initialize_barrier(arrived, 1);
    cutlass::arch::fence_barrier_init();
    set_barrier_transaction_bytes(arrived, size(tile) * sizeof(Element));
    const auto engine = load.get_slice(_0{});
    copy(load.with(arrived), engine.partition_S(box), engine.partition_D(tile));
  }
  __syncthreads();
  wait_barrier(arrived, 0);
  keep_order();
}

/// The engine reads the tile that the block's threads wrote.
template <class Store, class Tile, class Box>
__device__ void tma_drain(const Store& store, const Tile& tile, const Box& box) {
  keep_order();
  tma_store_fence();
  __syncthreads();
  if (threadIdx.x == 0) {
    const auto engine = store.get_slice(_0{});
    copy(store, engine.partition_S(tile), engine.partition_D(box));
    tma_store_arrive();
    tma_store_wait<0>();
  }
}

}  // namespace cornerturn::with_cute
