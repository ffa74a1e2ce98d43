// Formats of blocks that share a scale, how their scales are chosen, and how scales lie.
#pragma once

#include <cstdint>

namespace cornerturn {

/// What a block is made of. One table has a row for each (src/core/block_format.hpp); docs/casts.md
/// lists them. Blocks of `AxB` are A lines high and B values long.
enum class BlockFormat : std::uint8_t {
  q8_0,              ///< ggml: f16 scale, then 32 x int8
  mxfp8_e4m3,        ///< OCP: 32 x e4m3, scale E8M0
  mxfp8_e5m2,        ///< OCP: 32 x e5m2, scale E8M0
  mxfp8_32x32,       ///< e4m3, scale E8M0
  mxfp8_e5m2_32x32,  ///< e5m2, scale E8M0
  mxfp4,             ///< OCP: 32 x e2m1, two in a byte, scale E8M0
  nvfp4,             ///< 16 x e2m1, two in a byte, scale e4m3, and one f32 for the tensor
  fp8_1x128,         ///< 128 x e4m3, scale f32
  fp8_e5m2_1x128,    ///< 128 x e5m2, scale f32
  fp8_128x128,       ///< e4m3, scale f32
  fp8_e5m2_128x128,  ///< e5m2, scale f32
  q4_0,              ///< ggml: f16 scale, then 32 x 4 bits
  q4_1,              ///< ggml: f16 scale and least value, then 32 x 4 bits
  q5_0,              ///< ggml: f16 scale, then 32 x 5 bits, the highest ones first
  q5_1,              ///< ggml: f16 scale and least value, then as q5_0
  iq4_nl,            ///< ggml: f16 scale, then 32 x 4 bits that number values of a table
  ggml_mxfp4,        ///< ggml: E8M0, then 32 x e2m1
  ggml_nvfp4,        ///< ggml: four scales of 7 bits, e4m3 without a sign, then 4 x 16 x e2m1
};

/// How the scale of a block follows from the largest magnitude in it, amax.
enum class BlockScale : std::uint8_t {
  /// E8M0: 2^(floor(log2(amax)) - emax), as in the OCP specification, where amax may saturate.
  floor,
  /// E8M0 and f32: the least power of two with which amax does not saturate.
  ceil,
  /// E8M0: as floor, of amax rounded to the values' own precision.
  even,
  /// f32: amax, or 1e-4 where it is less, divided by the largest value. E4M3: the same with amax,
  /// times the tensor's scale.
  exact,
};

/// How the scales of a matrix lie.
enum class ScaleOrder : std::uint8_t {
  /// One stride for each axis.
  strided,
  /// One stride for each axis; four scales that follow each other along a line are next to each
  /// other, as the bytes of one integer. The stride at the blocks' axis is that from four to four.
  packed_4,
  /// Tiles of 128 lines by 4 scales, 512 bytes each, as cuBLAS reads them.
  tiles_128x4,
};

}  // namespace cornerturn
