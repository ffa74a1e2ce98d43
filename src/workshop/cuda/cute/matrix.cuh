// What the CuTe rungs have in common: the matrices as tensors, tiles and predicates.
#pragma once

#include <cstdint>
#include <cute/tensor.hpp>

#include "workshop/cuda/cute/launch.cuh"
#include "workshop/cuda/cute/layouts.hpp"
#include "workshop/cuda/cute/rungs.hpp"

namespace cornerturn::with_cute {

/// rows x cols, row-major. Strides of 64 bits: a matrix may have more than 2^31 elements.
template <class T>
auto row_major(T* data, std::int64_t rows, std::int64_t cols) {
  return make_tensor(make_gmem_ptr(data),
                     make_layout(make_shape(static_cast<int>(rows), static_cast<int>(cols)),
                                 make_stride(cols, _1{})));
}

/// cols x rows, row-major, seen as rows x cols: its strides are those of a column-major matrix.
template <class T>
auto transposed_view(T* data, std::int64_t rows, std::int64_t cols) {
  return make_tensor(make_gmem_ptr(data),
                     make_layout(make_shape(static_cast<int>(rows), static_cast<int>(cols)),
                                 make_stride(_1{}, rows)));
}

/// The tile (i, j) of the source that the block takes. The grid has one axis, as the others end at
/// 65,535; blocks that follow each other write the same rows of the destination.
template <class Tile, class Shape>
__device__ auto tile_coord(Tile tile, Shape shape) {
  const unsigned down = ceil_div(static_cast<unsigned>(get<0>(shape)), unsigned{get<0>(tile)});
  return make_coord(static_cast<int>(blockIdx.x % down), static_cast<int>(blockIdx.x / down));
}

/// Is all of the tile (i, j) inside?
template <class Tile, class Coord, class Shape>
__device__ bool is_full(Tile tile, Coord coord, Shape shape) {
  return (get<0>(coord) + 1) * get<0>(tile) <= get<0>(shape) &&
         (get<1>(coord) + 1) * get<1>(tile) <= get<1>(shape);
}

/// For a partition of coordinates: which of them lie in `shape`.
template <class Coords, class Shape>
__device__ auto inside(Coords const& coords, Shape const& shape) {
  Tensor pred = make_tensor<bool>(cute::shape(coords));
  CUTE_UNROLL
  for (int i = 0; i < size(pred); ++i) pred(i) = elem_less(coords(i), shape);
  return pred;
}

}  // namespace cornerturn::with_cute
