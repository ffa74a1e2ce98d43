// Blocks of every format with an array of scales, in every layout that GPUs quantise to, with
// random codes and scales, and the matrices that they stand for.
#pragma once

#include <vector>

#include "support/tiles_of_blocks.hpp"

namespace cornerturn::test {

struct DequantisedTiles {
  explicit DequantisedTiles(const TileCase& of, unsigned seed) : c(of), blocks(c, c.along_rows) {
    const std::int64_t size = ElementType(c.kind).size();
    pitch = (c.cols * size + 15) / 16 * 16 + 16 * c.gap;
    step = c.rows * pitch + 16 * c.gap;
    std::mt19937 random(seed);
    for (auto* bytes : {&blocks.values, &blocks.scales}) {
      for (std::byte& byte : *bytes) byte = static_cast<std::byte>(random() >> 24);
    }
    BlockRule rule;
    rule.format = c.format;
    rule.scale = c.rule;
    problem = block_problem(ElementType(c.kind), {c.matrices, c.rows, c.cols}, {step, pitch, size},
                            Blocks{rule, true, blocks.layout, {}});
    before.assign(static_cast<std::size_t>(c.matrices * step + 2 * guard), std::byte{0x5a});
    after = before;
    for (std::int64_t m = 0; m < c.matrices; ++m) {
      for (std::int64_t row = 0; row < c.rows; ++row) {
        for (std::int64_t col = 0; col < c.cols; ++col) {
          const float x = c.along_rows ? value(m, row, col) : value(m, col, row);
          std::byte* const to = after.data() + guard + m * step + row * pitch + col * size;
          values::with_kind(c.kind, [&]<class S>(values::Type<S>) {
            if constexpr (values::is_float<S>) {
              const S narrow = values::convert<S>(x, Overflow::standard);
              std::memcpy(to, &narrow, sizeof narrow);
            }
          });
        }
      }
    }
  }

  /// Of memory for each of the three, whose results begin `guard` bytes behind the first.
  Buffers buffers(std::byte* plain, std::byte* values, std::byte* scales) const {
    Buffers buffers{plain + guard, values + guard, {}, {scales + guard}};
    buffers.blocks.tensor_scale = c.tensor;
    return buffers;
  }

  static constexpr std::int64_t guard = TileResult::guard;
  TileCase c;
  TileResult blocks;
  std::int64_t pitch, step;
  std::vector<std::byte> before, after;  ///< the matrices
  Problem problem;

 private:
  float value(std::int64_t m, std::int64_t line, std::int64_t k) const {
    const BlockRow row = c.row();
    const std::int64_t place =
        values::scale_place(c.order, row.scale_bytes(), line / row.across, k / row.along,
                            blocks.line_step, blocks.block_step);
    const std::byte* const scale = blocks.scales.data() + guard + m * blocks.scale_step + place;
    const auto stored = static_cast<std::uint8_t>(*scale);
    float factor = row.scale == ScaleType::e8m0 ? values::e8m0(stored)
                                                : values::nvfp4_factor(stored, c.tensor);
    if (row.scale == ScaleType::f32) std::memcpy(&factor, scale, 4);
    const int of_unit = row.values_per_unit();
    const auto byte = static_cast<std::uint8_t>(blocks.values[static_cast<std::size_t>(
        guard + m * blocks.value_step + line * blocks.pitch + k / of_unit)]);
    switch (row.element) {
      case BlockElement::e4m3:
        return values::block_dequantised(values::E4M3{byte}, factor);
      case BlockElement::e5m2:
        return values::block_dequantised(values::E5M2{byte}, factor);
      default:
        return values::block_dequantised(
            values::E2M1{static_cast<std::uint8_t>(byte >> 4 * (k % 2) & 15)}, factor);
    }
  }
};

/// One direction of any format, rule, layout and shape.
inline TileCase random_dequantised_case(std::mt19937& random, std::int64_t most) {
  TileCase c = random_tile_case(random, most);
  if (c.along_rows && c.along_cols) c.along_rows = random() % 2 == 0;
  c.along_cols = !c.along_rows;
  if (random() % 2 == 0) c.cols = 1 + static_cast<std::int64_t>(random()) % most;
  return c;
}

}  // namespace cornerturn::test
