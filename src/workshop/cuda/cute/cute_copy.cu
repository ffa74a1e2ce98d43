// cute_copy: the ceiling in CuTe's words. A tiled copy: 256 threads with 4 neighbouring elements
// each are one step of 1024 elements, and a tile is four steps. The matrix is one row here, as a
// copy does not care for its shape. The last tile may be ragged: it goes element by element.
#include "workshop/cuda/cute/matrix.cuh"

namespace cornerturn::with_cute {

namespace {

using Threads = Layout<_256>;
using Values = Layout<_4>;
using Elements = _4096;

template <class Source, class Destination>
__global__ void __launch_bounds__(256) copy_kernel(Source source, Destination destination) {
  const auto step =
      make_tiled_copy(Copy_Atom<UniversalCopy<uint128_t>, Element>{}, Threads{}, Values{});
  const auto mine = step.get_slice(threadIdx.x);
  const std::int64_t block = blockIdx.x;
  Tensor from = mine.partition_S(local_tile(source, Elements{}, block));     // (4, steps)
  Tensor to = mine.partition_D(local_tile(destination, Elements{}, block));  // (4, steps)
  Tensor registers = make_fragment_like(to);

  if ((block + 1) * Elements{} <= size(source)) {
    copy(step, from, registers);
    copy(step, registers, to);
  } else {
    Tensor numbers = make_identity_tensor(shape(source));
    Tensor pred = inside(mine.partition_S(local_tile(numbers, Elements{}, block)), shape(source));
    copy_if(pred, from, registers);
    copy_if(pred, registers, to);
  }
}

}  // namespace

cudaError_t cute_copy(const Call& call) {
  const std::int64_t elements = call.rows * call.cols;
  Tensor source = make_tensor(make_gmem_ptr(call.src), make_layout(make_shape(elements)));
  Tensor destination = make_tensor(make_gmem_ptr(call.dst), make_layout(make_shape(elements)));
  return launch_tiles(
      call, copy_kernel<decltype(source), decltype(destination)>, Elements{}, elements, Threads{},
      [&] { return source; }, [&] { return destination; });
}

}  // namespace cornerturn::with_cute
