// ggml's copy of any tensor into any other: up to four dimensions, strides in bytes on both sides,
// one thread an element. Element i of the source, in the order of its extents, becomes element i of
// the destination, in the order of its own; the extents may differ, the number of elements may not.
//
//   i -> (i0, i1, i2, i3) -> i0 nb0 + i1 nb1 + i2 nb2 + i3 nb3
//
// A transposed tensor has the strides of a matrix swapped, so that neighbouring threads read places
// a row apart: no tile helps, and each read takes a sector for one element.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/ladder/matrix.hpp"

namespace cornerturn::ladder {

/// Dimension 0 runs fastest through the elements' numbers, whatever its stride.
struct CpyTensor {
  std::int64_t ne[4] = {1, 1, 1, 1};  ///< extents
  std::int64_t nb[4] = {0, 0, 0, 0};  ///< strides in bytes, multiples of the element's size

  CT_HOST_DEVICE constexpr std::int64_t size() const { return ne[0] * ne[1] * ne[2] * ne[3]; }

  /// The offset of element i in bytes.
  CT_HOST_DEVICE constexpr std::int64_t at(std::int64_t i) const {
    std::int64_t offset = 0;
    for (int d = 0; d < 3; ++d) {
      offset += i % ne[d] * nb[d];
      i /= ne[d];
    }
    return offset + i * nb[3];
  }
};

template <class T>
struct CpyFlatArgs {
  const T* src = nullptr;
  T* dst = nullptr;
  CpyTensor from;
  CpyTensor to;

  CT_HOST_DEVICE const T* source(std::int64_t i) const {
    return reinterpret_cast<const T*>(reinterpret_cast<const std::byte*>(src) + from.at(i));
  }
  CT_HOST_DEVICE T* destination(std::int64_t i) const {
    return reinterpret_cast<T*>(reinterpret_cast<std::byte*>(dst) + to.at(i));
  }
};

struct CpyFlat {
  static constexpr const char* name = "cpy_flat";
  static constexpr const char* shows = "ggml's copy of any strides, one thread an element";
  static constexpr bool transposes = true;
  template <class T>
  static constexpr bool takes = sizeof(T) <= 4;

  static constexpr int threads = 64;

  template <class T>
  static constexpr Launch launch(const CpyFlatArgs<T>& a) {
    return {grid_of(tiles_of(a.from.size(), threads)), {threads, 1, 1}};
  }

  template <class T, class Ctx>
  CT_DEVICE static void run(Ctx& ctx, const CpyFlatArgs<T>& a) {
    const std::int64_t i = std::int64_t{ctx.block_id().x} * threads + ctx.thread_index();
    if (i >= a.from.size()) return;
    ctx.store(a.destination(i), ctx.load(a.source(i)));
  }

  /// As a rung: the matrix seen transposed, into a packed tensor.
  template <class T>
  CT_HOST_DEVICE static constexpr CpyFlatArgs<T> flat(const MatrixArgs<T>& a) {
    constexpr auto bytes = static_cast<std::int64_t>(sizeof(T));
    return {a.src,
            a.dst,
            {{a.rows, a.cols, 1, 1}, {a.cols * bytes, bytes, 0, 0}},
            {{a.rows, a.cols, 1, 1}, {bytes, a.rows * bytes, 0, 0}}};
  }
  template <class T>
  static constexpr Launch launch(const MatrixArgs<T>& a) {
    return launch(flat(a));
  }
  template <class T, class Ctx>
  CT_DEVICE static void run(Ctx& ctx, const MatrixArgs<T>& a) {
    run(ctx, flat(a));
  }
};

}  // namespace cornerturn::ladder
