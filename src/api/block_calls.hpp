// Calls that quantise or dequantise in blocks: their arguments, checked, as problems.
#pragma once

#include <optional>
#include <vector>

#include "api/target.hpp"
#include "core/blocks.hpp"
#include "core/buffers.hpp"
#include "core/problem.hpp"
#include "cornerturn/blocks.hpp"

namespace cornerturn {

/// What a check needs to know of a view, whether it is read or written. It refers to the view.
struct BlockOperand {
  const char* name;
  void* data;
  ElementType type;
  const Extents& shape;
  const Extents& strides;

  template <class Void>
  BlockOperand(const char* label, const BasicView<Void>& view)
      : name(label),
        data(const_cast<void*>(static_cast<const void*>(view.data))),
        type(view.type),
        shape(view.shape),
        strides(view.strides) {}
};

/// A call that has been checked, and what a plan for it depends on.
struct BlockCall {
  Problem problem;
  Buffers buffers;
  std::vector<NamedPointer> pointers;  ///< the array itself first
  BlockOperand plain;
};

/// Throws an Error that names what is wrong. `scales` may be null.
BlockCall block_call(BlockFormat format, const BlockOperand& plain, const BlockOperand& values,
                     const BlockOperand* scales, int axis, bool back, const BlockOptions& options);

/// Both copies of a matrix.
struct BothCopies {
  BlockOperand rows, row_scales, columns, column_scales;
};
BlockCall both_call(BlockFormat format, const BothCopies& copies, const ConstView& src,
                    const BlockOptions& options);

/// The MXFP8 whose values have the type of these.
BlockFormat mxfp8_of(const BlockOperand& values);

}  // namespace cornerturn
