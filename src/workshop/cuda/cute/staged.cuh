// A tile through shared memory, filled by cp.async: the kernel of cute_smem, cute_smem_pad and
// cute_smem_swizzle, which differ in the two views of the buffer alone.
//
//   global rows -> SourceView (row, col)  =  DestinationView (col, row) -> global rows
#pragma once

#include "workshop/cuda/cute/matrix.cuh"

namespace cornerturn::with_cute {

template <class Rung, class Source, class Destination>
__global__ void __launch_bounds__(256) staged_kernel(Source source, Destination destination) {
  using Block = typename Rung::Block;
  using Threads = typename Rung::Threads;
  const auto at = tile_coord(Block{}, shape(source));
  const bool full = is_full(Block{}, at, shape(source));

  alignas(16) __shared__ Element buffer[cosize_v<typename Rung::SourceView>];
  Tensor rows = make_tensor(make_smem_ptr(buffer), typename Rung::SourceView{});
  Tensor columns = make_tensor(make_smem_ptr(buffer), typename Rung::DestinationView{});

  // Load. The atom says cp.async: a plain copy() would go through registers, and the fence would
  // wait for nothing.
  const auto load =
      make_tiled_copy(Copy_Atom<SM80_CP_ASYNC_CACHEALWAYS<Element>, Element>{}, Threads{});
  const auto mine = load.get_slice(threadIdx.x);
  Tensor from = mine.partition_S(local_tile(source, Block{}, at));
  Tensor to = mine.partition_D(rows);
  if (full) {
    copy(load, from, to);
  } else {
    Tensor numbers = local_tile(make_identity_tensor(shape(source)), Block{}, at);
    copy_if(load, inside(mine.partition_S(numbers), shape(source)), from, to);
  }
  cp_async_fence();
  cp_async_wait<0>();
  __syncthreads();

  // Store: the destination's rows, with its own coordinates.
  const auto destination_tile = [&](const auto& tensor) {
    return local_partition(local_tile(tensor, reverse(Block{}), reverse(at)), Threads{},
                           threadIdx.x);
  };
  Tensor turned = local_partition(columns, Threads{}, threadIdx.x);
  Tensor out = destination_tile(destination);
  if (full) {
    copy(turned, out);
  } else {
    Tensor numbers = destination_tile(make_identity_tensor(shape(destination)));
    copy_if(inside(numbers, shape(destination)), turned, out);
  }
}

template <class Rung>
cudaError_t run_staged(const Call& call) {
  Tensor source = row_major(call.src, call.rows, call.cols);
  Tensor destination = row_major(call.dst, call.cols, call.rows);
  return launch_tiles(
      call, staged_kernel<Rung, decltype(source), decltype(destination)>, typename Rung::Block{},
      shape(source), typename Rung::Threads{}, [&] { return source; }, [&] { return destination; });
}

}  // namespace cornerturn::with_cute
