// What blocks look like that share a scale: a table with a row for each format, plain data.
#pragma once

#include <cstdint>
#include <string_view>

#include "cornerturn/block_format.hpp"

namespace cornerturn {

/// What a block's values are stored as. `packed`: together with the scale, in a way of their own.
enum class BlockElement : std::uint8_t { packed, e4m3, e5m2, e2m1 };

/// `inside`: the scale is a part of the block's bytes. All others lie in an array of their own.
enum class ScaleType : std::uint8_t { inside, f32, e8m0, e4m3 };

/// A row of the table.
struct BlockRow {
  BlockFormat format;
  std::string_view name;
  BlockElement element;
  int along;   ///< values of a block along its axis
  int across;  ///< lines of a block, along the mode `across` of its layout
  ScaleType scale;
  int packed_bytes = 0;  ///< of a block whose scale is inside

  /// Values that the elements of the array of values hold: a packed block, two e2m1, or one.
  constexpr int values_per_unit() const {
    if (element == BlockElement::packed) return along;
    return element == BlockElement::e2m1 ? 2 : 1;
  }
  constexpr int unit_bytes() const { return element == BlockElement::packed ? packed_bytes : 1; }
  constexpr int scale_bytes() const {
    if (scale == ScaleType::inside) return 0;
    return scale == ScaleType::f32 ? 4 : 1;
  }
  constexpr bool has_scales() const { return scale != ScaleType::inside; }
  /// Have the scales this rule? Scales that are inside blocks have none.
  constexpr bool takes(BlockScale rule) const {
    if (scale == ScaleType::e8m0) return rule != BlockScale::exact;
    if (scale == ScaleType::f32) return rule == BlockScale::exact || rule == BlockScale::ceil;
    return rule == standard_rule();
  }
  /// The rule that holds where none is asked for.
  constexpr BlockScale standard_rule() const {
    return scale == ScaleType::f32 || scale == ScaleType::e4m3 ? BlockScale::exact
                                                               : BlockScale::floor;
  }
};

/// Rows are in the order of their formats.
inline constexpr BlockRow block_rows[] = {
    {BlockFormat::q8_0, "q8_0", BlockElement::packed, 32, 1, ScaleType::inside, 34},
    {BlockFormat::mxfp8_e4m3, "mxfp8_e4m3", BlockElement::e4m3, 32, 1, ScaleType::e8m0},
    {BlockFormat::mxfp8_e5m2, "mxfp8_e5m2", BlockElement::e5m2, 32, 1, ScaleType::e8m0},
    {BlockFormat::mxfp8_32x32, "mxfp8_32x32", BlockElement::e4m3, 32, 32, ScaleType::e8m0},
    {BlockFormat::mxfp8_e5m2_32x32, "mxfp8_e5m2_32x32", BlockElement::e5m2, 32, 32,
     ScaleType::e8m0},
    {BlockFormat::mxfp4, "mxfp4", BlockElement::e2m1, 32, 1, ScaleType::e8m0},
    {BlockFormat::nvfp4, "nvfp4", BlockElement::e2m1, 16, 1, ScaleType::e4m3},
    {BlockFormat::fp8_1x128, "fp8_1x128", BlockElement::e4m3, 128, 1, ScaleType::f32},
    {BlockFormat::fp8_e5m2_1x128, "fp8_e5m2_1x128", BlockElement::e5m2, 128, 1, ScaleType::f32},
    {BlockFormat::fp8_128x128, "fp8_128x128", BlockElement::e4m3, 128, 128, ScaleType::f32},
    {BlockFormat::fp8_e5m2_128x128, "fp8_e5m2_128x128", BlockElement::e5m2, 128, 128,
     ScaleType::f32},
    {BlockFormat::q4_0, "q4_0", BlockElement::packed, 32, 1, ScaleType::inside, 18},
    {BlockFormat::q4_1, "q4_1", BlockElement::packed, 32, 1, ScaleType::inside, 20},
    {BlockFormat::q5_0, "q5_0", BlockElement::packed, 32, 1, ScaleType::inside, 22},
    {BlockFormat::q5_1, "q5_1", BlockElement::packed, 32, 1, ScaleType::inside, 24},
    {BlockFormat::iq4_nl, "iq4_nl", BlockElement::packed, 32, 1, ScaleType::inside, 18},
    {BlockFormat::ggml_mxfp4, "ggml_mxfp4", BlockElement::packed, 32, 1, ScaleType::inside, 17},
    {BlockFormat::ggml_nvfp4, "ggml_nvfp4", BlockElement::packed, 64, 1, ScaleType::inside, 36},
};

constexpr const BlockRow& row_of(BlockFormat format) {
  return block_rows[static_cast<int>(format)];
}

constexpr bool block_rows_are_in_order() {
  int next = 0;
  for (const BlockRow& row : block_rows) {
    if (static_cast<int>(row.format) != next++) return false;
  }
  return true;
}
static_assert(block_rows_are_in_order());

/// What kernels for blocks of 32 values in a line take: q8_0, and both MXFP8.
constexpr bool is_line_of_32(BlockFormat format) {
  const BlockRow& row = row_of(format);
  const bool mxfp8 = row.scale == ScaleType::e8m0 && row.element != BlockElement::e2m1;
  return row.along == 32 && row.across == 1 && (format == BlockFormat::q8_0 || mxfp8);
}

/// Bytes of scales in `lines` lines of `scales` scales each, in tiles: padded to whole tiles.
constexpr std::int64_t tiled_scale_bytes(std::int64_t lines, std::int64_t scales) {
  return (lines + 127) / 128 * ((scales + 3) / 4) * 512;
}

}  // namespace cornerturn
