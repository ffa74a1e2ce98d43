// What the forms of gather share: where elements lie, and which sectors a warp touches.
#pragma once

#include <cstdint>

#include "core/problem.hpp"
#include "kernels/gather.hpp"
#include "plan/gpu/roofline.hpp"
#include "plan/gpu/row_runs.hpp"

namespace cornerturn::plan::gpu::gather {

inline constexpr int threads = 256;  // of a block

/// The sectors of the source that a warp touches which takes 32 elements one after the other.
int sectors_of_warp(const Problem& normal);

/// Whether the problem moves some fields of structures, an array each: what lies next to each other
/// in the source are elements of several rows of the destination, and is half as long as the step
/// to a row's next element, or less.
bool holds_fields(const Problem& normal);

/// Bytes that memory reads if each burst is fetched once.
double read_once(const Rows& rows, const Model& model);

/// Elements in the destination's order.
template <class Places>
Places places_of(const Problem& normal) {
  Places places;
  places.elements = static_cast<typename Places::Index>(normal.elements());
  if (places.elements == 0) return places;
  kernels::WalkMaker<typename Places::Way> maker;
  for (int i = normal.rank(); i-- > 0;) {
    const Mode& mode = normal.modes[i];
    maker.add(mode.extent, mode.src_stride, mode.dst_stride);
  }
  places.walk = maker.walk;
  return places;
}

}  // namespace cornerturn::plan::gpu::gather
