// cute_smem_pad: rows 33 elements apart, so that a column of the tile lies in all banks. The
// destination's view of the same buffer has strides (1,33); (1,32) would be another buffer.
#include "workshop/cuda/cute/staged.cuh"

namespace cornerturn::with_cute {

static_assert(is_same_v<decltype(composition(SmemPad::SourceView{},
                                             Layout<Shape<_32, _32>, Stride<_32, _1>>{})),
                        SmemPad::DestinationView>,
              "the two views are one buffer");

cudaError_t cute_smem_pad(const Call& call) {
  return run_staged<SmemPad>(call);
}

}  // namespace cornerturn::with_cute
