// An array of plain values and its blocks of 32, as lines of values: what the families for blocks
// are set up from.
#pragma once

#include <cstdint>
#include <vector>

#include "core/problem.hpp"
#include "values/blocks.hpp"

namespace cornerturn::plan::gpu {

inline constexpr std::int64_t block_size = values::block_size;
inline constexpr std::int64_t q8_bytes = sizeof(values::Q8Block);

/// Are there kernels that were compiled for values of this type?
bool is_known(ElementType type);

/// A mode that tells lines apart, or that of a line's values. Strides are in bytes.
struct LineMode {
  std::int64_t extent = 1;
  std::int64_t plain = 0;
  std::int64_t values = 0;  ///< for q8_0 along a line: from one block to the next
  std::int64_t scales = 0;  ///< along a line: from one block to the next
  /// Its lines share blocks or tiles of scales: it stays a mode of its own.
  bool shares = false;

  /// One mode goes through both: `inner` first.
  bool continues(const LineMode& inner) const {
    return !shares && !inner.shares && plain == inner.plain * inner.extent &&
           values == inner.values * inner.extent && scales == inner.scales * inner.extent;
  }
};

/// Null when the problem's blocks are what kernels for lines of 32 values make, else the rule that
/// they break.
const char* why_not_lines(const Problem& normal);

struct BlockLines {
  /// `layout` is one of those of the problem.
  BlockLines(const Problem& normal, const BlockLayout& layout);

  /// Where there are few long lines, makes a line of each block: there is a lane for every line.
  void split_few();

  std::int64_t length() const { return along.extent; }
  /// Blocks of a line; the last one need not be full.
  std::int64_t blocks() const;
  /// Bytes from one block of a line to the next, where blocks are packed.
  std::int64_t block_bytes() const;

  bool q8;
  LineMode along;               ///< the values of a line
  std::vector<LineMode> modes;  ///< the others: the one that lanes follow first
  bool plain_across = false;    ///< in the array, neighbours belong to different lines
  bool values_across = false;   ///< so do they among the values of the blocks
};

/// Lines that are the rows or the columns of matrices of plain values.
struct LineStack {
  explicit LineStack(const BlockLines& lines);

  /// Null when kernels for matrices of f32, f16 and bf16 can go through the array, else the rule
  /// that it breaks.
  const char* why_not(const Problem& normal) const;

  std::int64_t rows() const { return columns ? along.extent : line.extent; }
  std::int64_t cols() const { return columns ? line.extent : along.extent; }
  /// Bytes from one row of plain values to the next.
  std::int64_t pitch() const { return columns ? along.plain : line.plain; }

  bool q8;
  bool columns;        ///< lines are columns of the matrices
  std::size_t others;  ///< modes beside that of the lines' values
  LineMode along;
  LineMode line;   ///< from one line to the next
  LineMode batch;  ///< from one matrix to the next
};

}  // namespace cornerturn::plan::gpu
