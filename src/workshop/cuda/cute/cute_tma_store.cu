// cute_tma_store: 16-byte loads to registers, the turn on the way into shared memory, and the
// destination by TMA. The tile lies as the engine wants it, rows of the destination of 128 bytes
// whose 16-byte chunks are xor-ed with the row's number: Swizzle<3,4,3> in bytes.
//
// A thread has four neighbours of a source row, which go to four rows of the tile, one element at a
// time. A warp takes 16 source rows x 2 chunks: its loads are whole sectors, and each of its stores
// meets the 4 chunks of 16 rows times 2 rows of the tile that the xor keeps apart: 32 banks.
#include "workshop/cuda/cute/tma.cuh"

namespace cornerturn::with_cute {

namespace {

template <class Access, class Source, class Store>
__global__ void __launch_bounds__(256)
    tma_store_kernel(Source source, const __grid_constant__ Store store) {
  using Block = TmaStore::Block;
  const auto at = tile_coord(Block{}, shape(source));
  alignas(1024) __shared__ Element buffer[cosize_v<TmaStore::DestinationTile>];
  Tensor tile = make_tensor(make_smem_ptr(buffer), TmaStore::DestinationTile{});  // (col, row)
  Tensor turned = for_threads(tile).compose(TmaStore::Transposed{});              // (row, col)

  const auto load =
      make_tiled_copy(Copy_Atom<Access, Element>{}, TmaStore::Threads{}, TmaStore::Values{});
  const auto mine = load.get_slice(threadIdx.x);
  Tensor from = mine.partition_S(local_tile(source, Block{}, at));
  Tensor registers = make_fragment_like(from);
  Tensor numbers = local_tile(make_identity_tensor(shape(source)), Block{}, at);
  clear(registers);
  copy_if(load, inside(mine.partition_S(numbers), shape(source)), from, registers);
  copy(registers, mine.partition_D(turned));

  const auto destination = reverse(shape(source));
  tma_drain(store, tile,
            local_tile(store.get_tma_tensor(destination), reverse(Block{}), reverse(at)));
}

template <class Access>
cudaError_t run_tma_store(const Call& call) {
  Tensor source = row_major(call.src, call.rows, call.cols);
  Tensor destination = row_major(call.dst, call.cols, call.rows);
  const auto store = [&] {
    return make_tma_copy(SM90_TMA_STORE{}, destination, TmaStore::DestinationTile{});
  };
  return launch_tiles(
      call, tma_store_kernel<Access, decltype(source), decltype(store())>, TmaStore::Block{},
      shape(source), TmaStore::Threads{}, [&] { return source; }, store);
}

}  // namespace

cudaError_t cute_tma_store(const Call& call) {
  const bool whole_vectors = call.cols % 4 == 0;
  return whole_vectors ? run_tma_store<UniversalCopy<uint128_t>>(call)
                       : run_tma_store<UniversalCopy<Element>>(call);
}

}  // namespace cornerturn::with_cute
