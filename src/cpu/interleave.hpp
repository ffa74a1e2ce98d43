// Several arrays, wherever they lie, put side by side in one destination, in one pass over memory.
#pragma once

#include <cstdint>
#include <span>

#include "cornerturn/element_type.hpp"

namespace cornerturn::cpu {

/// Packed arrays of one shape: `rows` rows of `row` elements.
struct Interleaved {
  std::span<const void* const> arrays;
  std::int64_t rows = 0;
  std::int64_t row = 1;
  ElementType type{Kind::u8};
};

/// Writes row r of array k to row r * arrays.size() + k of `dst`, which is packed and overlaps none
/// of the arrays. `threads` as in Options.
void interleave(void* dst, const Interleaved& from, int threads);

}  // namespace cornerturn::cpu
