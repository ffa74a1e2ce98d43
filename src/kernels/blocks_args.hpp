// What the kernel for blocks in any layout is told, and what an element of its array is.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/block_codes.hpp"
#include "kernels/casts.hpp"
#include "kernels/walk.hpp"
#include "values/blocks.hpp"

namespace cornerturn::kernels {

/// A mode other than that of the blocks, and the bytes that a step in it moves.
struct LineAxis {
  FastDivide64 count;
  std::int64_t plain_step = 0;
  std::int64_t value_step = 0;
  std::int64_t scale_step = 0;
};

/// Where a line begins, in bytes.
struct LineStart {
  std::int64_t plain = 0;
  std::int64_t values = 0;
  std::int64_t scales = 0;
};

struct BlocksArgs {
  std::byte* plain = nullptr;  ///< only read where it is quantised
  std::byte* values = nullptr;
  std::byte* scales = nullptr;  ///< of MXFP8
  ValueType type = {};          ///< of an element of the array
  int plain_bytes = 4;          ///< of an element
  BlockFormat format = BlockFormat::q8_0;
  values::BlockScale rule = values::BlockScale::floor;
  bool back = false;            ///< dequantise
  bool plain_across = false;    ///< lanes of the array take neighbouring lines
  bool values_across = false;   ///< so do those of the codes, of MXFP8
  int unit = 1;                 ///< else they take so many bytes; 4: the codes of a line are packed
  int along_bits = 0;           ///< log2 of the blocks of a line that a tile has
  bool tiles_across = false;    ///< tiles that follow each other: across the lines, or along them
  std::int64_t length = 0;      ///< of a line, in values; zeros fill its last block
  std::int64_t plain_step = 0;  ///< from a value to the next
  std::int64_t value_step = 0;  ///< from an 8-bit value, or a block of q8_0, to the next
  std::int64_t scale_step = 0;
  std::int64_t lines = 0;
  std::int64_t tiles = 0;
  FastDivide64 tiles_fast;
  int rank = 0;
  LineAxis axis[max_axes];

  CT_HOST_DEVICE constexpr LineStart line(std::int64_t number) const {
    auto n = static_cast<std::uint64_t>(number);
    LineStart at;
    for (int i = 0; i < rank; ++i) {
      const std::uint64_t rest = axis[i].count.quotient(n);
      const auto index = static_cast<std::int64_t>(n - rest * axis[i].count.divisor);
      at.plain += index * axis[i].plain_step;
      at.values += index * axis[i].value_step;
      at.scales += index * axis[i].scale_step;
      n = rest;
    }
    return at;
  }
  CT_HOST_DEVICE constexpr bool q8() const { return format == BlockFormat::q8_0; }
  /// Bytes of codes of a block, the scale of q8_0 with them.
  CT_HOST_DEVICE constexpr int block_bytes() const {
    return q8() ? static_cast<int>(sizeof(values::Q8Block)) : values::block_size;
  }
  /// Where byte `at` of a line's codes from block `block` on lies, from where the line begins.
  CT_HOST_DEVICE constexpr std::int64_t codes_at(std::int64_t block, int at) const {
    if (!q8()) return (block * values::block_size + at) * value_step;
    if (unit == 4) return block * value_step + at;
    const int further = at / static_cast<int>(sizeof(values::Q8Block));
    return (block + further) * value_step + at -
           further * static_cast<int>(sizeof(values::Q8Block));
  }
};

/// Elements of one type.
template <class S>
struct KnownElement {
  using Raw = Bits<S>;
  static constexpr bool known = true;
  CT_DEVICE static float number(const BlocksArgs&, Raw raw) { return number_of<S>(raw); }
  CT_DEVICE static Raw element(const BlocksArgs&, float product) {
    if constexpr (sizeof(S) == 4) {
      return values::bits_as<Raw>(plain_nan(product));
    } else {
      return static_cast<Raw>(narrow_products<S>(product, product));
    }
  }
};

/// Elements of one size.
template <int size>
struct AnyElement {
  using Raw = typename BitsOf<size>::type;
  static constexpr bool known = false;
  CT_DEVICE static float number(const BlocksArgs& a, Raw raw) {
    const AnyValueArgs change{a.type, {Kind::f32}};
    return values::bits_as<float>(any_value<std::uint32_t>(change, raw, 0, 0, 0, 0));
  }
  CT_DEVICE static Raw element(const BlocksArgs& a, float product) {
    const AnyValueArgs change{{Kind::f32}, a.type};
    return any_value<Raw>(change, values::bits_as<std::uint32_t>(plain_nan(product)), 0, 0, Raw{},
                          0);
  }
};

}  // namespace cornerturn::kernels
