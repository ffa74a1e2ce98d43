// Contiguous elements converted in vectors.
#pragma once

#include "cpu/convert_run.hpp"

namespace cornerturn::cpu {

/// The function for runs whose elements follow one another on both sides: in vectors by way of f32
/// where that holds all values of both types, else one by one. The bits are those of
/// convert_function().
ConvertFunction contiguous_convert_function(ElementType dst, ElementType src);

/// convert(problem, run) of runs that follow one another on both sides, stored around the caches,
/// as far as whole lines go; what is left at either end is somebody else's line too. The
/// destination is not read. hwy::FlushStream() has to follow the last of them.
void convert_past_caches(const Problem& problem, const ConvertRun& run, ConvertFunction convert);

/// Some rows of one matrix, and the block that they go to, `pitch` bytes a row.
struct RowBlock {
  const std::byte* src;
  const std::int64_t* offset;  ///< of each row, in bytes
  int count;
  std::int64_t columns;
  std::byte* dst;
  std::int64_t pitch;
};
/// Converts the rows where plan::convert::is_straight().
void convert_rows(const Problem& problem, const RowBlock& rows);

}  // namespace cornerturn::cpu
