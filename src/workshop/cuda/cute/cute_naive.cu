// cute_naive: rows read, columns written, with registers between. The destination is seen with the
// source's coordinates, as a column-major matrix: then both are tiled and partitioned alike, and
// the transposition is nothing but a copy between two layouts.
//
// A warp lies along a row: it reads 128 bytes of the source, and its writes are `rows` elements
// apart, each in a sector of its own. A wide tile, 32 x 1024, changes nothing about that.
#include "workshop/cuda/cute/matrix.cuh"

namespace cornerturn::with_cute {

namespace {

template <class Rung, class Source, class Destination, class Extents>
__global__ void __launch_bounds__(256)
    naive_kernel(Source source, Destination destination, Extents extents) {
  const auto at = tile_coord(typename Rung::Block{}, extents);
  const auto mine = [&](const auto& tiled) {
    return local_partition(tiled(make_coord(_, _), get<0>(at), get<1>(at)),
                           typename Rung::Threads{}, threadIdx.x);
  };
  Tensor from = mine(source);
  Tensor to = mine(destination);
  Tensor registers = make_tensor_like(from);

  if (is_full(typename Rung::Block{}, at, extents)) {
    copy(from, registers);
    copy(registers, to);
  } else {
    Tensor numbers = tiled_divide(make_identity_tensor(extents), typename Rung::Block{});
    Tensor pred = inside(mine(numbers), extents);
    copy_if(pred, from, registers);
    copy_if(pred, registers, to);
  }
}

template <class Rung>
cudaError_t run_naive(const Call& call) {
  Tensor matrix = row_major(call.src, call.rows, call.cols);
  Tensor view = transposed_view(call.dst, call.rows, call.cols);
  Tensor source = tiled_divide(matrix, typename Rung::Block{});     // ((64, 64), down, across)
  Tensor destination = tiled_divide(view, typename Rung::Block{});  // ((64, 64), down, across)
  const auto extents = shape(matrix);
  return launch_tiles(
      call, naive_kernel<Rung, decltype(source), decltype(destination), decltype(extents)>,
      typename Rung::Block{}, extents, typename Rung::Threads{}, [&] { return source; },
      [&] { return destination; }, [&] { return extents; });
}

}  // namespace

cudaError_t cute_naive(const Call& call) {
  return run_naive<NaiveSquare>(call);
}
cudaError_t cute_naive_wide(const Call& call) {
  return run_naive<NaiveWide>(call);
}

}  // namespace cornerturn::with_cute
