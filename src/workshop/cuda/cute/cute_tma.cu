// cute_tma: both global legs by TMA, so that the threads only turn one tile into another. Both
// tiles lie as the engine wants them, 16-byte chunks xor-ed with the row; nothing below 16 bytes
// moves.
//
// The scalar turn reads a column of one tile and writes a row of the other. The rows of a column
// have 8 different places for their chunk, so 32 lanes meet in 8 banks: 4 wavefronts, whatever the
// swizzle.
//
// The diagonal turn reads and writes 16 bytes at a time, by blocks of 4 x 4 that a thread turns in
// its registers. Quarter-warp q takes the blocks (t, t ^ q), t = 0 .. 7: along a diagonal the 8
// chunks lie in 8 different places of both tiles, and each quarter is one wavefront.
#include "workshop/cuda/cute/tma.cuh"

namespace cornerturn::with_cute {

namespace {

struct Scalar {
  template <class In, class Out>
  static __device__ void turn(const In& in, const Out& out) {
    Tensor out_by_source = out.compose(Tma::Transposed{});  // (row, col)
    Tensor column = local_partition(in, Tma::Columns{}, threadIdx.x);
    Tensor registers = make_tensor_like(column);
    copy(column, registers);
    copy(registers, local_partition(out_by_source, Tma::Columns{}, threadIdx.x));
  }
};

struct Diagonal {
  template <class In, class Out>
  static __device__ void turn(const In& in, const Out& out) {
    const int block = Tma::Diagonal{}(static_cast<int>(threadIdx.x));
    const int row = block % 16;  // of blocks, in the source
    const int col = block / 16;
    using Block = Shape<_4, _1>;  // four rows of one chunk
    Tensor from = local_tile(recast<uint128_t>(in), Block{}, make_coord(row, col));
    Tensor to = local_tile(recast<uint128_t>(out), Block{}, make_coord(col, row));

    using Rows = Layout<Shape<_4, _4>, Stride<_4, _1>>;
    using Columns = Layout<Shape<_4, _4>, Stride<_1, _4>>;
    Tensor registers = make_tensor<Element>(Rows{});
    Tensor turned = make_tensor<Element>(Rows{});
    copy(from, recast<uint128_t>(registers));
    copy(registers, make_tensor(turned.data(), Columns{}));
    copy(recast<uint128_t>(turned), to);
  }
};

template <class Turn, class Load, class Store, class Extents>
__global__ void __launch_bounds__(256)
    tma_kernel(const __grid_constant__ Load load, const __grid_constant__ Store store,
               Extents extents) {
  using Block = Tma::Block;
  alignas(1024) __shared__ Element source_tile[cosize_v<Tma::SourceTile>];
  alignas(1024) __shared__ Element destination_tile[cosize_v<Tma::DestinationTile>];
  Tensor in = make_tensor(make_smem_ptr(source_tile), Tma::SourceTile{});             // (row, col)
  Tensor out = make_tensor(make_smem_ptr(destination_tile), Tma::DestinationTile{});  // (col, row)

  const auto at = tile_coord(Block{}, extents);
  tma_fill(load, local_tile(load.get_tma_tensor(extents), Block{}, at), in);
  Turn::turn(for_threads(in), for_threads(out));
  tma_drain(store, out,
            local_tile(store.get_tma_tensor(reverse(extents)), reverse(Block{}), reverse(at)));
}

template <class Turn>
cudaError_t run_tma(const Call& call) {
  Tensor source = row_major(call.src, call.rows, call.cols);
  Tensor destination = row_major(call.dst, call.cols, call.rows);
  const auto load = [&] { return make_tma_copy(SM90_TMA_LOAD{}, source, Tma::SourceTile{}); };
  const auto store = [&] {
    return make_tma_copy(SM90_TMA_STORE{}, destination, Tma::DestinationTile{});
  };
  return launch_tiles(
      call, tma_kernel<Turn, decltype(load()), decltype(store()), decltype(shape(source))>,
      Tma::Block{}, shape(source), _256{}, load, store, [&] { return shape(source); });
}

}  // namespace

cudaError_t cute_tma(const Call& call) {
  return run_tma<Scalar>(call);
}
cudaError_t cute_tma_diagonal(const Call& call) {
  return run_tma<Diagonal>(call);
}

}  // namespace cornerturn::with_cute
