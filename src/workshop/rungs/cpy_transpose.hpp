// ggml's copy of a transposed tensor: matrices stacked along z, eight of them a block, one after
// the other through one tile. 32 x 8 threads take four rows each; elements of 1 and 2 bytes take a
// slot of 4 bytes of the tile, which is padded to 33 slots a row. Values that change their type do
// so on the way out: the tile holds elements of the source.
//
//   matrix 0:  rows -> tile | barrier | tile -> columns | barrier
//   matrix 1:  rows -> tile | barrier | ...
//
// The second barrier is what the published kernel lacks: without it a fast warp stores the next
// matrix over a tile that a slow warp still reads.
#pragma once

#include <cstdint>
#include <optional>

#include "maps/tile_maps.hpp"
#include "workshop/rungs/cpy_flat.hpp"
#include "workshop/rungs/matrix.hpp"

namespace cornerturn::ladder {

/// batch matrices of rows x cols, row-major and packed, become cols x rows each; elements of type S
/// become elements of type D.
template <class S, class D = S>
struct CpyTransposeArgs {
  const kernels::Bits<S>* src = nullptr;
  kernels::Bits<D>* dst = nullptr;
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  std::int64_t batch = 1;

  CT_HOST_DEVICE constexpr std::int64_t src_at(std::int64_t matrix, std::int64_t row,
                                               std::int64_t col) const {
    return (matrix * rows + row) * cols + col;
  }
  CT_HOST_DEVICE constexpr std::int64_t dst_at(std::int64_t matrix, std::int64_t row,
                                               std::int64_t col) const {
    return (matrix * cols + col) * rows + row;
  }
};

/// Can cpy_transpose copy this source into a packed tensor of its extents? Then how. Dimension 1 of
/// such a source is packed. Its matrices lie one after the other; or dimension 0 has the largest
/// stride, and dimensions 1 and 2 are the columns of one matrix.
template <class S, class D = S>
constexpr std::optional<CpyTransposeArgs<S, D>> as_transpose(const kernels::Bits<S>* src,
                                                             kernels::Bits<D>* dst,
                                                             const CpyTensor& from) {
  const auto& [ne, nb] = from;
  if (ne[3] != 1 || nb[1] != static_cast<std::int64_t>(sizeof(S))) return std::nullopt;
  // The stride of a dimension of one index says nothing.
  if (nb[0] == ne[1] * nb[1] && (ne[2] == 1 || nb[2] == ne[0] * nb[0])) {
    return CpyTransposeArgs<S, D>{src, dst, ne[0], ne[1], ne[2]};
  }
  if (nb[2] == ne[1] * nb[1] && nb[0] == ne[2] * nb[2]) {
    return CpyTransposeArgs<S, D>{src, dst, ne[0], ne[1] * ne[2], 1};
  }
  return std::nullopt;
}

struct CpyTranspose {
  static constexpr const char* name = "cpy_transpose";
  static constexpr const char* shows = "ggml's copy: padded tile, eight matrices a block";
  static constexpr bool transposes = true;
  template <class T>
  static constexpr bool takes = sizeof(T) <= 4;

  static constexpr int side = 32;
  static constexpr int height = 8;
  static constexpr int matrices = 8;  // a block

  struct Slots : Padded<side, side, 1> {
    static constexpr int size = side * (side + 1);
  };
  template <class T>
  using SharedMap = Slots;
  static constexpr int slot_bytes = 4;

  template <class S, class D>
  static constexpr Launch launch(const CpyTransposeArgs<S, D>& a) {
    const std::int64_t blocks =
        tiles_of(a.rows, side) * tiles_of(a.cols, side) * tiles_of(a.batch, matrices);
    return {grid_of(blocks), {side, height, 1}};
  }

  /// As a rung: what as_transpose() makes of the stack, which it takes.
  template <class T>
  static constexpr CpyTransposeArgs<T> of_stack(const T* src, T* dst, std::int64_t rows,
                                                std::int64_t cols, std::int64_t batch, bool fused) {
    return *as_transpose<T>(src, dst, stacked(rows, cols, batch, fused, std::int64_t{sizeof(T)}));
  }
  /// A batch of one matrix.
  template <class S, class D>
  CT_HOST_DEVICE static constexpr CpyTransposeArgs<S, D> of_matrix(const kernels::Bits<S>* src,
                                                                   kernels::Bits<D>* dst,
                                                                   std::int64_t rows,
                                                                   std::int64_t cols) {
    return {src, dst, rows, cols, 1};
  }
  template <class T>
  CT_HOST_DEVICE static constexpr CpyTransposeArgs<T> one(const MatrixArgs<T>& a) {
    return of_matrix<T, T>(a.src, a.dst, a.rows, a.cols);
  }
  template <class T>
  static constexpr Launch launch(const MatrixArgs<T>& a) {
    return launch(one(a));
  }
  template <class T, class Ctx>
  CT_DEVICE static void run(Ctx& ctx, const MatrixArgs<T>& a) {
    run(ctx, one(a));
  }

  template <class S, class D, class Ctx>
  CT_DEVICE static void run(Ctx& ctx, const CpyTransposeArgs<S, D>& a) {
    static_assert(sizeof(S) <= 4, "an element fits a slot");
    using Element = kernels::Bits<S>;
    const auto buffer = ctx.template shared<std::uint32_t, Slots::size>();
    const auto slot = [&](int row, int col) { return cast<Element>(buffer + Slots::at(row, col)); };

    const auto down = static_cast<std::uint32_t>(tiles_of(a.rows, side));
    const auto across = static_cast<std::uint32_t>(tiles_of(a.cols, side));
    const std::uint32_t block = ctx.block_id().x;
    const std::int64_t row = std::int64_t{block % down} * side;
    const std::int64_t col = std::int64_t{block / down % across} * side;
    const std::int64_t first = std::int64_t{block / down / across} * matrices;
    const int x = static_cast<int>(ctx.thread_id().x);
    const int y = static_cast<int>(ctx.thread_id().y);

    // Places of this thread's first element; the other three are `height` rows on.
    const bool reads_col = col + x < a.cols;
    const bool writes_row = row + x < a.rows;
    const Element* src = a.src + a.src_at(first, row + y, col + x);
    kernels::Bits<D>* dst = a.dst + a.dst_at(first, row + x, col + y);
    const std::int64_t matrix = a.rows * a.cols;
    const std::int64_t last = a.batch - first < matrices ? a.batch - first : matrices;
    for (std::int64_t m = 0; m < last; ++m, src += matrix, dst += matrix) {
      // All loads begin before a store waits for the first of them. The loops count from 0, so that
      // the compiler knows how often they run.
      Element v[side / height];
      CT_UNROLL
      for (int j = 0; j < side / height; ++j) {  // Load
        v[j] = ctx.load_if(reads_col && row + y + j * height < a.rows, src + j * height * a.cols);
      }
      CT_UNROLL
      for (int j = 0; j < side / height; ++j) ctx.store(slot(y + j * height, x), v[j]);
      ctx.barrier();
      CT_UNROLL
      for (int j = 0; j < side / height; ++j) {  // Store
        const bool writes = writes_row && col + y + j * height < a.cols;
        const Element out = ctx.load_if(writes, slot(x, y + j * height));
        ctx.store_if(writes, dst + j * height * a.rows, converted<S, D>(out));
      }
      ctx.barrier();
    }
  }
};

}  // namespace cornerturn::ladder
