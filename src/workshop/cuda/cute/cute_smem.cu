// cute_smem: the tile as it comes, rows of 32 elements. Both global legs are whole rows; a column
// of the tile lies in one bank.
#include "workshop/cuda/cute/staged.cuh"

namespace cornerturn::with_cute {

static_assert(
    is_same_v<decltype(composition(Smem::SourceView{}, Layout<Shape<_32, _32>, Stride<_32, _1>>{})),
              Smem::DestinationView>,
    "the two views are one buffer");

cudaError_t cute_smem(const Call& call) {
  return run_staged<Smem>(call);
}

}  // namespace cornerturn::with_cute
