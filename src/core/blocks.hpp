// An array and its blocks of 32 values, as both backends take them. Strides are in bytes.
#pragma once

#include <cstddef>

#include "cornerturn/element_type.hpp"
#include "cornerturn/view.hpp"
#include "values/blocks.hpp"

namespace cornerturn {

/// The array itself: of real values.
struct PlainArray {
  std::byte* data = nullptr;  ///< not written to when it is quantised
  ElementType type{Kind::f32};
  Extents shape;
  Extents strides;
};

/// Where the blocks of an array lie. The stride of `values` at the axis is from one q8_0 block to
/// the next, or from one 8-bit value to the next.
struct BlockArrays {
  std::byte* values = nullptr;
  Extents value_strides;
  std::byte* scales = nullptr;  ///< none for q8_0
  Extents scale_strides;
  int axis = 0;
};

/// How blocks are made.
struct BlockRule {
  values::BlockFormat format = values::BlockFormat::q8_0;
  values::MxScale scale = values::MxScale::floor;
};

}  // namespace cornerturn
