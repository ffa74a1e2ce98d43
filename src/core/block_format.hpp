// What blocks of 32 values look like, and how their scales are chosen: plain data.
#pragma once

#include <cstdint>

namespace cornerturn {

/// What a block is made of: values/blocks.hpp draws each.
enum class BlockFormat : std::uint8_t { q8_0, mx_e4m3, mx_e5m2 };

/// How the scale of an MXFP8 block follows from the largest magnitude, amax.
enum class MxScale : std::uint8_t {
  floor,  ///< 2^(floor(log2(amax)) - emax), as the OCP specification has it: amax may saturate
  ceil,   ///< the least power of two with which amax does not
};

}  // namespace cornerturn
