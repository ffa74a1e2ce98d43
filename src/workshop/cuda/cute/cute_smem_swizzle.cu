// cute_smem_swizzle: nothing is padded; the column is xor-ed with the row.
//
//   tile of 32 x 32, offset of (row, col)     r4 r3 r2 r1 r0 | c4 c3 c2 c1 c0
//     Swizzle<5,0,5>                          c ^= r4 r3 r2 r1 r0: a column is all 32 banks
//   tile of 64 x 64                           r5 r4 r3 r2 r1 r0 c5 | c4 c3 c2 c1 c0
//     Swizzle<5,0,5>                          c ^= r3 r2 r1 r0 c5: rows 16 apart share a bank
//     Swizzle<5,0,6>                          c ^= r4 r3 r2 r1 r0: a column is all 32 banks
#include "workshop/cuda/cute/staged.cuh"

namespace cornerturn::with_cute {

// The transposed coordinates go in front, and the swizzle stays in place.
template <class Rung, class Swizzle, class Side>
constexpr bool swizzle_stays =
    is_same_v<typename Rung::DestinationView,
              decltype(composition(Swizzle{}, Layout<Shape<Side, Side>, Stride<_1, Side>>{}))>;
static_assert(swizzle_stays<SmemSwizzle32, Swizzle<5, 0, 5>, _32>);
static_assert(swizzle_stays<SmemSwizzleTwoWay, Swizzle<5, 0, 5>, _64>);
static_assert(swizzle_stays<SmemSwizzle64, Swizzle<5, 0, 6>, _64>);

cudaError_t cute_smem_swizzle(const Call& call) {
  return run_staged<SmemSwizzle32>(call);
}
cudaError_t cute_smem_swizzle_2way(const Call& call) {
  return run_staged<SmemSwizzleTwoWay>(call);
}
cudaError_t cute_smem_swizzle_64(const Call& call) {
  return run_staged<SmemSwizzle64>(call);
}

}  // namespace cornerturn::with_cute
