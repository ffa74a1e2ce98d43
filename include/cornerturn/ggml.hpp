// ggml's copy operator in ggml's own terms. ggml_cpy, ggml_cont and ggml_dup are one problem of
// this library each, for any permutation, view, batch and types. ggml itself is not needed.
#pragma once

#include <cstddef>
#include <cstdint>

#include "cornerturn/block_format.hpp"
#include "cornerturn/export.hpp"
#include "cornerturn/plan.hpp"
#include "cornerturn/view.hpp"

namespace cornerturn {

/// The types whose values can be converted, by the numbers of ggml's `ggml_type`: each of f32, f16,
/// bf16, f64, i8, i16, i32 and i64 to each of them, and to and from all others here, which are
/// blocks. A GPU converts q8_0 alone of these. Blocks, also those of types that are not here, are
/// copied to their own type only.
enum class GgmlType : int {
  f32 = 0,
  f16 = 1,
  q4_0 = 2,
  q4_1 = 3,
  q5_0 = 6,
  q5_1 = 7,
  q8_0 = 8,
  iq4_nl = 20,
  i8 = 24,
  i16 = 25,
  i32 = 26,
  i64 = 27,
  f64 = 28,
  bf16 = 30,
  mxfp4 = 39,
  nvfp4 = 40,
};

/// What a copy needs to know of a `ggml_tensor`. Element (i0, i1, i2, i3) lies at
/// data + i0 nb[0] + i1 nb[1] + i2 nb[2] + i3 nb[3], where i0 counts blocks for quantised types.
/// `ne` counts values; each extent is at least 1.
struct GgmlTensor {
  GgmlType type = GgmlType::f32;
  std::int64_t ne[4] = {1, 1, 1, 1};
  std::size_t nb[4] = {};  ///< strides in bytes: multiples of the size of an element, or of a block
  void* data = nullptr;

  /// Takes ggml's `ggml_tensor`, or anything else that has these four members.
  template <class Tensor>
  static GgmlTensor of(const Tensor& tensor) {
    GgmlTensor result{static_cast<GgmlType>(tensor.type), {}, {}, tensor.data};
    for (int d = 0; d < 4; ++d) {
      result.ne[d] = tensor.ne[d];
      result.nb[d] = tensor.nb[d];
    }
    return result;
  }
};

/// A copy as this library sees it: two views, slowest axis first.
struct GgmlCopy {
  enum class What {
    copy,        ///< copy(dst, src), where both have one shape
    quantise,    ///< quantise(format, dst, nullptr, src, last axis)
    dequantise,  ///< dequantise(format, dst, src, nullptr, last axis)
  };
  What what;
  View dst;
  ConstView src;
  BlockFormat format = BlockFormat::q8_0;  ///< of the side that holds blocks, unless it is a copy
};

/// Returns the one problem that copying `src` to `dst` is. Elements are counted on both sides, and
/// i0 is the fastest index. The extents may differ where the number of elements does not: axes are
/// fused and split until they agree. Throws an Error that names the argument, its value and the
/// rule; its status is Status::unsupported where the tensors are right but no single copy does it.
/// The data may be null.
CT_API GgmlCopy ggml_views(const GgmlTensor& dst, const GgmlTensor& src);

/// Sets dst = src, as ggml_cpy(src, dst), ggml_cont(src) and ggml_dup(src) do. Values are converted
/// as by the default Epilogue, or to and from blocks as by quantise() and dequantise(), which take
/// the threads and the stream of `options`. Everything is checked before anything is written.
/// Source and destination must not overlap.
CT_API void ggml_cpy(const GgmlTensor& dst, const GgmlTensor& src, const Options& options = {});

/// Says whether `ggml_cpy` can copy these tensors on a CPU, for a backend's supports_op. It throws
/// nothing, and the data may be null. A GPU makes and reads blocks of q8_0 alone, which is not
/// asked here.
CT_API bool ggml_can_cpy(const GgmlTensor& dst, const GgmlTensor& src) noexcept;

/// Returns the plan that `ggml_cpy` uses, for tensors of the same types, extents and strides.
/// Copies that quantise or dequantise have no plan (Status::unsupported).
CT_API Plan ggml_plan(const GgmlTensor& dst, const GgmlTensor& src, const Options& options = {});

}  // namespace cornerturn
