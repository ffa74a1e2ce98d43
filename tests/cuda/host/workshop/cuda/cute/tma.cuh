// The copy engine on the host: boxes by coordinate, element by element.
#pragma once

#include "workshop/cuda/cute/matrix.cuh"

namespace cornerturn::with_cute {

template <class Matrix>
struct Engine {
  Matrix matrix;

  template <class Extents>
  auto get_tma_tensor(const Extents& extents) const {
    return make_identity_tensor(extents);
  }
};

template <class Operation, class Matrix, class Layout>
auto engine_for(const Operation&, const Matrix& matrix, const Layout&) {
  return Engine<Matrix>{matrix};
}
#define make_tma_copy engine_for

template <class Tile>
auto for_threads(const Tile& tile) {
  return as_position_independent_swizzle_tensor(tile);
}

template <class Load, class Box, class Tile>
void tma_fill(const Load& load, const Box& box, const Tile& tile) {
  if (threadIdx.x != 0) return;
  Tensor places = for_threads(tile);
  for (int i = 0; i < size(box); ++i) {
    const bool inside = elem_less(box(i), shape(load.matrix));
    places(i) = inside ? load.matrix(box(i)) : 0;
  }
}

template <class Store, class Tile, class Box>
void tma_drain(const Store& store, const Tile& tile, const Box& box) {
  if (threadIdx.x != 0) return;
  Tensor places = for_threads(tile);
  for (int i = 0; i < size(box); ++i) {
    if (elem_less(box(i), shape(store.matrix))) store.matrix(box(i)) = places(i);
  }
}

}  // namespace cornerturn::with_cute
