// What the rungs have in common: the matrix, where its elements lie, and how its tiles are counted.
#pragma once

#include <cstdint>
#include <string>

#include "cornerturn/error.hpp"
#include "kernels/context.hpp"

namespace cornerturn::ladder {

/// rows x cols, row-major, becomes cols x rows, row-major.
template <class T>
struct MatrixArgs {
  const T* src = nullptr;
  T* dst = nullptr;
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  bool wide = false;  ///< every row of both begins at a multiple of 16 bytes

  /// Where the element (row, col) of the source comes from, and where it goes.
  CT_HOST_DEVICE constexpr std::int64_t src_at(std::int64_t row, std::int64_t col) const {
    return row * cols + col;
  }
  CT_HOST_DEVICE constexpr std::int64_t dst_at(std::int64_t row, std::int64_t col) const {
    return col * rows + row;
  }
  CT_HOST_DEVICE constexpr bool inside(std::int64_t row, std::int64_t col) const {
    return row < rows && col < cols;
  }
};

template <class T>
MatrixArgs<T> matrix_args(const T* src, T* dst, std::int64_t rows, std::int64_t cols) {
  constexpr std::int64_t vector = 16 / static_cast<std::int64_t>(sizeof(T));
  const auto phase =
      (reinterpret_cast<std::uintptr_t>(src) | reinterpret_cast<std::uintptr_t>(dst)) % 16;
  return {src, dst, rows, cols, phase == 0 && rows % vector == 0 && cols % vector == 0};
}

CT_HOST_DEVICE constexpr std::int64_t tiles_of(std::int64_t extent, std::int64_t tile) {
  return (extent + tile - 1) / tile;
}

/// The source position of a block's tile.
struct Tile {
  std::int64_t row = 0;
  std::int64_t col = 0;
};

/// A grid has one axis, as the others end at 65,535.
constexpr Dim3 grid_of(std::int64_t blocks) {
  constexpr std::int64_t most = 2147483647;
  if (blocks > most) {
    throw Error(Status::overflow, "a grid of " + std::to_string(blocks) +
                                      " blocks passes the limit of " + std::to_string(most));
  }
  return {static_cast<unsigned>(blocks), 1, 1};
}

/// Blocks that follow each other write the same rows of the destination, whose partly filled
/// sectors then meet in the L2 cache.
template <class T>
CT_HOST_DEVICE constexpr Tile tile_of(const MatrixArgs<T>& a, unsigned block, int tile_rows,
                                      int tile_cols) {
  const auto down = static_cast<std::uint32_t>(tiles_of(a.rows, tile_rows));
  return {std::int64_t{block % down} * tile_rows, std::int64_t{block / down} * tile_cols};
}

template <class T>
constexpr Launch tiled_launch(const MatrixArgs<T>& a, int tile_rows, int tile_cols, Dim3 block,
                              unsigned dynamic_shared = 0) {
  const std::int64_t tiles = tiles_of(a.rows, tile_rows) * tiles_of(a.cols, tile_cols);
  return {grid_of(tiles), block, dynamic_shared};
}

/// It has of_stack<T>(src, dst, rows, cols, batch, fused): arguments for a stack of matrices.
template <class Kernel, class T>
concept TakesStacks = requires {
  Kernel::template of_stack<T>(nullptr, nullptr, std::int64_t{}, std::int64_t{}, std::int64_t{},
                               bool{});
};

/// Calls call(args) with the kernel's arguments for a matrix, or for a stack where it takes stacks:
/// m.batch matrices of m.rows x m.cols, m.fused where row 0 of each comes before row 1 of each.
template <class Kernel, class T, class Stack, class Call>
decltype(auto) with_args(const void* src, void* dst, const Stack& m, Call&& call) {
  if constexpr (TakesStacks<Kernel, T>) {
    if (m.batch != 1 || m.fused) {
      return call(Kernel::template of_stack<T>(static_cast<const T*>(src), static_cast<T*>(dst),
                                               m.rows, m.cols, m.batch, m.fused));
    }
  }
  return call(matrix_args(static_cast<const T*>(src), static_cast<T*>(dst), m.rows, m.cols));
}

/// Elements that fill a 16-byte access.
template <class T>
inline constexpr int vector_of = 16 / static_cast<int>(sizeof(T));

}  // namespace cornerturn::ladder
