// cute_tma_copy: the copy by the copy engine. One warp a tile, of which one thread does anything:
// it asks for a box of the source and, once it lies in shared memory, for the same box of the
// destination. No register holds an element.
#include "workshop/cuda/cute/tma.cuh"

namespace cornerturn::with_cute {

namespace {

template <class Load, class Store, class Extents>
__global__ void __launch_bounds__(32)
    tma_copy_kernel(const __grid_constant__ Load load, const __grid_constant__ Store store,
                    Extents extents) {
  using Block = TmaCopy::Block;
  alignas(128) __shared__ Element buffer[cosize_v<TmaCopy::Tile>];
  Tensor tile = make_tensor(make_smem_ptr(buffer), TmaCopy::Tile{});
  const auto at = tile_coord(Block{}, extents);
  tma_fill(load, local_tile(load.get_tma_tensor(extents), Block{}, at), tile);
  tma_drain(store, tile, local_tile(store.get_tma_tensor(extents), Block{}, at));
}

}  // namespace

cudaError_t cute_tma_copy(const Call& call) {
  using Tile = TmaCopy::Tile;
  Tensor source = row_major(call.src, call.rows, call.cols);
  Tensor destination = row_major(call.dst, call.rows, call.cols);
  using Load = decltype(make_tma_copy(SM90_TMA_LOAD{}, source, Tile{}));
  using Store = decltype(make_tma_copy(SM90_TMA_STORE{}, destination, Tile{}));
  return launch_tiles(
      call, tma_copy_kernel<Load, Store, decltype(shape(source))>, TmaCopy::Block{}, shape(source),
      _32{}, [&] { return make_tma_copy(SM90_TMA_LOAD{}, source, Tile{}); },
      [&] { return make_tma_copy(SM90_TMA_STORE{}, destination, Tile{}); },
      [&] { return shape(source); });
}

}  // namespace cornerturn::with_cute
