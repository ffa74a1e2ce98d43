// ggml's copy of any tensor into any other: up to four dimensions, strides in bytes on both sides,
// one thread an element. Element i of the source, in the order of its extents, becomes element i of
// the destination, in the order of its own; the extents may differ, the number of elements may not.
// On its way it may become another type: f32, f16, bf16 and i32, each into each.
//
//   i -> (i0, i1, i2, i3) -> i0 nb0 + i1 nb1 + i2 nb2 + i3 nb3
//
// A transposed tensor has the strides of a matrix swapped, so that neighbouring threads read places
// a row apart: no tile helps, and each read takes a sector for one element.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "kernels/casts.hpp"
#include "values/convert.hpp"
#include "workshop/rungs/matrix.hpp"

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

/// What is done to an element, as bits: an S becomes a D; of one type nothing is.
template <class S, class D>
CT_DEVICE kernels::Bits<D> converted(kernels::Bits<S> element) {
  if constexpr (std::is_same_v<S, D>) {
    return element;
  } else {
    return values::bits_as<kernels::Bits<D>>(
        values::convert<D>(values::bits_as<S>(element), Overflow::standard));
  }
}

/// Calls call.operator()<S, D>() with the types of two kinds, or answers false where one of them is
/// none that is converted.
template <class Call>
constexpr bool with_cpy_types(Kind src, Kind dst, Call&& call) {
  const auto with = [](Kind kind, auto&& then) {
    switch (kind) {
      case Kind::f32:
        return then.template operator()<float>();
      case Kind::f16:
        return then.template operator()<values::F16>();
      case Kind::bf16:
        return then.template operator()<values::BF16>();
      case Kind::i32:
        return then.template operator()<std::int32_t>();
      default:
        return false;
    }
  };
  return with(src, [&]<class S>() {
    return with(dst, [&]<class D>() {
      call.template operator()<S, D>();
      return true;
    });
  });
}

/// Elements of type S become elements of type D.
template <class S, class D = S>
struct CpyFlatArgs {
  using Src = kernels::Bits<S>;
  using Dst = kernels::Bits<D>;

  const Src* src = nullptr;
  Dst* dst = nullptr;
  CpyTensor from;
  CpyTensor to;

  CT_HOST_DEVICE const Src* source(std::int64_t i) const {
    return reinterpret_cast<const Src*>(reinterpret_cast<const std::byte*>(src) + from.at(i));
  }
  CT_HOST_DEVICE Dst* destination(std::int64_t i) const {
    return reinterpret_cast<Dst*>(reinterpret_cast<std::byte*>(dst) + to.at(i));
  }
};

/// batch matrices of rows x cols, packed, as ggml sees them transposed: dimension 0 counts rows,
/// dimension 1 columns. They lie one after the other; or, fused, row by row: row 0 of each matrix,
/// row 1 of each, ..., so that dimension 0 has the largest stride (nb00 > nb02).
constexpr CpyTensor stacked(std::int64_t rows, std::int64_t cols, std::int64_t batch, bool fused,
                            std::int64_t bytes) {
  const std::int64_t of_row = cols * bytes;
  return {{rows, cols, batch, 1},
          {fused ? batch * of_row : of_row, bytes, fused ? of_row : rows * of_row,
           batch * rows * of_row}};
}

struct CpyFlat {
  static constexpr const char* name = "cpy_flat";
  static constexpr const char* shows = "ggml's copy of any strides, one thread an element";
  static constexpr bool transposes = true;
  template <class T>
  static constexpr bool takes = sizeof(T) <= 4;

  static constexpr int threads = 64;

  template <class S, class D>
  static constexpr Launch launch(const CpyFlatArgs<S, D>& a) {
    return {grid_of(tiles_of(a.from.size(), threads)), {threads, 1, 1}};
  }

  template <class S, class D, class Ctx>
  CT_DEVICE static void run(Ctx& ctx, const CpyFlatArgs<S, D>& a) {
    const std::int64_t i = std::int64_t{ctx.block_id().x} * threads + ctx.thread_index();
    if (i >= a.from.size()) return;
    ctx.store(a.destination(i), converted<S, D>(ctx.load(a.source(i))));
  }

  /// As a rung: a stack of matrices seen transposed, into a packed tensor.
  template <class T>
  static constexpr CpyFlatArgs<T> of_stack(const T* src, T* dst, std::int64_t rows,
                                           std::int64_t cols, std::int64_t batch, bool fused) {
    constexpr auto size = static_cast<std::int64_t>(sizeof(T));
    const CpyTensor from = stacked(rows, cols, batch, fused, size);
    const std::int64_t column = from.ne[0] * size;
    const std::int64_t matrix = from.ne[1] * column;
    const CpyTensor to{{from.ne[0], from.ne[1], from.ne[2], 1},
                       {size, column, matrix, from.ne[2] * matrix}};
    return {src, dst, from, to};
  }
  /// The matrix seen transposed, into a packed tensor.
  template <class S, class D>
  CT_HOST_DEVICE static constexpr CpyFlatArgs<S, D> of_matrix(const kernels::Bits<S>* src,
                                                              kernels::Bits<D>* dst,
                                                              std::int64_t rows,
                                                              std::int64_t cols) {
    constexpr auto from = static_cast<std::int64_t>(sizeof(S));
    constexpr auto to = static_cast<std::int64_t>(sizeof(D));
    return {src,
            dst,
            {{rows, cols, 1, 1}, {cols * from, from, 0, 0}},
            {{rows, cols, 1, 1}, {to, rows * to, 0, 0}}};
  }
  template <class T>
  CT_HOST_DEVICE static constexpr CpyFlatArgs<T> flat(const MatrixArgs<T>& a) {
    return of_matrix<T, T>(a.src, a.dst, a.rows, a.cols);
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
