// Matrix instructions are not run on a CPU: a kernel that reaches one of them is refused by its
// name.
#pragma once

#include "cuda_bf16.h"
#include "cuda_fp16.h"

namespace nvcuda::wmma {

struct row_major {};
struct col_major {};
struct matrix_a {};
struct matrix_b {};
struct accumulator {};
namespace precision {
struct tf32 {};
struct u4 {};
struct s4 {};
struct b1 {};
}  // namespace precision
enum layout_t { mem_row_major, mem_col_major };

template <class Use, int m, int n, int k, class T, class Layout = void>
struct fragment {
  static constexpr int num_elements = 8;
  T x[num_elements];
};
template <class Use, int m, int n, int k, class Layout>
struct fragment<Use, m, n, k, precision::tf32, Layout> {
  static constexpr int num_elements = 4;
  float x[num_elements];
};

template <class... A>
CT_GUEST_INLINE void load_matrix_sync(A&&...) {
  ::cornerturn::guest::refuse("wmma::load_matrix_sync");
}
template <class... A>
CT_GUEST_INLINE void store_matrix_sync(A&&...) {
  ::cornerturn::guest::refuse("wmma::store_matrix_sync");
}
template <class... A>
CT_GUEST_INLINE void mma_sync(A&&...) {
  ::cornerturn::guest::refuse("wmma::mma_sync");
}
template <class... A>
CT_GUEST_INLINE void fill_fragment(A&&...) {
  ::cornerturn::guest::refuse("wmma::fill_fragment");
}
CT_GUEST_INLINE float __float_to_tf32(float v) {
  const unsigned bits = __float_as_uint(v);
  return __uint_as_float((bits + 0x1000u) & ~0x1fffu);
}

}  // namespace nvcuda::wmma

CT_GUEST_INLINE float __float_to_tf32(float v) {
  return nvcuda::wmma::__float_to_tf32(v);
}
