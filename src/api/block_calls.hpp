// Calls that quantise or dequantise in blocks: their arguments, checked, as problems.
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "api/target.hpp"
#include "core/blocks.hpp"
#include "core/buffers.hpp"
#include "core/problem.hpp"
#include "cornerturn/blocks.hpp"
#include "cornerturn/lists.hpp"

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

/// Throws an Error that names what is wrong. `scales` may be null. `list` is that of the plain
/// array. A problem with a list has it as its last mode: axes of blocks, and lists of strides,
/// count it behind all others.
BlockCall block_call(BlockFormat format, const BlockOperand& plain, const BlockOperand& values,
                     const BlockOperand* scales, int axis, bool back, const BlockOptions& options,
                     const List& list = {});

/// Both copies of a matrix.
struct BothCopies {
  BlockOperand rows, row_scales, columns, column_scales;
};
BlockCall both_call(BlockFormat format, const BothCopies& copies, const ConstListedView& src,
                    const BlockOptions& options);

/// Throws where an entry of the call's list is out of range, or names a place of a destination
/// twice, if options.lists asks for the check where the list lies.
void check_entries(const BlockCall& call, bool on_gpu, const Options& options);

/// "(3, 4)"
std::string shape_text(const Extents& shape);

/// The shape of the scales of `blocks` along one of their axes, in an order; `across` is the axis
/// of the lines of tiles.
Extents scales_shape(ScaleOrder order, Extents blocks, int axis, int across);

/// The shapes of what a matrix of plain values becomes, with whole blocks along `axis`.
struct GroupShapes {
  Extents values, scales;
};
GroupShapes group_shapes(const BlockRow& row, const Extents& plain, int axis, ScaleOrder order);

/// Throws unless the arrays are those of whole blocks of a matrix of `shape` along its last axis.
void check_stored(const BlockOperand& values, const BlockOperand& scales, const BlockRow& row,
                  const Extents& shape);

/// Throws where `written` has elements that share bytes, or shares some with `read`.
void check_memory(const BlockOperand& written, const BlockOperand& read);

/// Runs the calls one after the other, once it is known that all of them can be run.
void run_calls(const std::deque<BlockCall>& calls, const BlockOptions& options);

/// The MXFP8 whose values have the type of these.
BlockFormat mxfp8_of(const BlockOperand& values);

}  // namespace cornerturn
