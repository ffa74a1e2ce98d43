// Quantises in blocks, and back, a box at a time: the box is brought into a stage as f32, blocks
// one after the other, by whichever kernel suits it; scales and values are made there.
#pragma once

#include "core/blocks.hpp"

namespace cornerturn::cpu {

/// With `turned`, a matrix is quantised once more, from the same read: its transpose, with blocks
/// along the other axis.
void quantise(const PlainArray& plain, const BlockArrays& blocks, const BlockArrays* turned,
              const BlockRule& rule, int threads);
void dequantise(const PlainArray& plain, const BlockArrays& blocks, values::BlockFormat format,
                int threads);

}  // namespace cornerturn::cpu
