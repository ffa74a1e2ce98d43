// Matrices and their blocks of floats of 8 and 4 bits in every layout that the GPU's kernel for
// tiles takes, made the obvious way: one block after the other.
#pragma once

#include <algorithm>
#include <cstring>
#include <limits>
#include <optional>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

#include "core/blocks.hpp"
#include "core/buffers.hpp"
#include "core/lists.hpp"
#include "core/problem.hpp"
#include "support/blocks.hpp"

namespace cornerturn::test {

struct TileCase {
  Kind kind = Kind::bf16;
  BlockFormat format = BlockFormat::fp8_1x128;
  BlockScale rule = BlockScale::exact;
  ScaleOrder order = ScaleOrder::strided;
  std::int64_t rows = 128;
  std::int64_t cols = 128;
  std::int64_t matrices = 1;
  bool along_rows = true;
  bool along_cols = false;
  bool scales_of_lines = false;  ///< neighbours among the scales are those of neighbouring lines
  std::int64_t gap = 0;          ///< unused vectors of 16 bytes, or scales, behind each line
  float tensor = 1;              ///< the tensor's scale
  int listed = 2;                ///< 0: matrices are those that a list names; 1: rows; 2: neither
  Places places = Places::i32;   ///< of the list

  BlockRow row() const { return row_of(format); }
  std::string text() const {
    return ElementType(kind).name() + " to " + name_of(format) + ", rule " +
           std::to_string(static_cast<int>(rule)) + ", order " +
           std::to_string(static_cast<int>(order)) + ", " + std::to_string(matrices) + " of " +
           std::to_string(rows) + " x " + std::to_string(cols) + (along_rows ? ", rows" : "") +
           (along_cols ? ", columns" : "") + (scales_of_lines ? ", scales of lines" : "") +
           ", gap " + std::to_string(gap) + ", tensor's scale " + std::to_string(tensor) +
           (listed == 0   ? ", matrices by a list"
            : listed == 1 ? ", rows by a list"
                          : "") +
           (listed < 2 && places == Places::i64 ? " of 64 bits" : "");
  }
};

/// One result, with bytes around it that have to stay.
struct TileResult {
  static constexpr std::int64_t guard = 64;

  TileResult(const TileCase& c, bool of_rows)
      : lines(of_rows ? c.rows : c.cols), length(of_rows ? c.cols : c.rows) {
    const BlockRow row = c.row();
    const auto up = [](std::int64_t n, std::int64_t to) { return (n + to - 1) / to * to; };
    blocks = up(length, row.along) / row.along;
    scale_lines = up(lines, row.across) / row.across;
    pitch = up(blocks * row.along / row.values_per_unit(), 16) + 16 * c.gap;
    value_step = scale_lines * row.across * pitch + 16 * c.gap;
    const std::int64_t size = row.scale_bytes();
    if (c.order == ScaleOrder::tiles_128x4) {
      block_step = 512;
      line_step = up(blocks, 4) / 4 * 512;
      scale_step = up(scale_lines, 128) / 128 * line_step;
    } else {
      const bool packed = c.order == ScaleOrder::packed_4;
      const std::int64_t unit = packed ? 4 : size, across = packed ? up(blocks, 4) / 4 : blocks;
      line_step = c.scales_of_lines ? unit : unit * (across + c.gap);
      block_step = c.scales_of_lines ? unit * (scale_lines + c.gap) : unit;
      scale_step = std::max(scale_lines * line_step, across * block_step) + 4 * c.gap;
    }
    values.assign(static_cast<std::size_t>(c.matrices * value_step + 2 * guard), std::byte{0xa5});
    scales.assign(static_cast<std::size_t>(c.matrices * scale_step + 2 * guard), std::byte{0xa5});
    const int axis = of_rows ? 2 : 1, across = of_rows ? 1 : 2;
    layout.axis = axis;
    if (row.across > 1 || c.order == ScaleOrder::tiles_128x4) layout.across = across;
    layout.order = c.order;
    layout.value_strides = of_rows ? Extents{value_step, pitch, 1} : Extents{value_step, 1, pitch};
    layout.scale_strides = of_rows ? Extents{scale_step, line_step, block_step}
                                   : Extents{scale_step, block_step, line_step};
  }

  /// Fills in what the result is, of values at(matrix, line, place).
  template <class At>
  void make(const TileCase& c, const At& at) {
    switch (c.row().element) {
      case BlockElement::e4m3:
        return make_of<values::E4M3>(c, at);
      case BlockElement::e5m2:
        return make_of<values::E5M2>(c, at);
      default:
        return make_of<values::E2M1>(c, at);
    }
  }

  std::int64_t lines, length, blocks, scale_lines;
  std::int64_t pitch, value_step, line_step, block_step, scale_step;
  std::vector<std::byte> values, scales;
  BlockLayout layout;

 private:
  template <class T, class At>
  void make_of(const TileCase& c, const At& at) {
    const BlockRow row = c.row();
    for (std::int64_t m = 0; m < c.matrices; ++m) {
      std::byte* const to_scales = scales.data() + guard + m * scale_step;
      if (c.order == ScaleOrder::tiles_128x4) std::fill_n(to_scales, scale_step, std::byte{0});
      for (std::int64_t i = 0; i < scale_lines && c.order == ScaleOrder::packed_4; ++i) {
        for (std::int64_t four = 0; 4 * four < blocks; ++four) {
          std::fill_n(to_scales + i * line_step + four * block_step, 4, std::byte{0});
        }
      }
      for (std::int64_t i = 0; i < scale_lines; ++i) {
        for (std::int64_t j = 0; j < blocks; ++j) {
          std::uint32_t amax = 0;
          for_block(row, i, j, [&](std::int64_t line, std::int64_t k, bool inside) {
            if (inside) amax = std::max(amax, values::magnitude_of(at(m, line, k)));
          });
          values::StoredScale scale{};
          if constexpr (!std::is_same_v<T, values::E2M1>) {
            if (row.scale == ScaleType::f32) scale = values::f32_scale<T>(amax, c.rule);
          }
          if (row.scale == ScaleType::e4m3) {
            scale = values::nvfp4_scale(amax, c.tensor);
          } else if (row.scale == ScaleType::e8m0) {
            const std::uint8_t code = values::mx_scale<T>(amax, c.rule);
            scale = {code, values::mx_inverse(code)};
          }
          const std::int64_t place =
              values::scale_place(c.order, row.scale_bytes(), i, j, line_step, block_step);
          std::memcpy(to_scales + place, &scale.bits, static_cast<std::size_t>(row.scale_bytes()));
          for_block(row, i, j, [&](std::int64_t line, std::int64_t k, bool inside) {
            const T code = values::mx_value<T>(inside ? at(m, line, k) : 0.0F, scale.inverse);
            const int of_unit = row.values_per_unit();
            std::byte& byte = values[static_cast<std::size_t>(guard + m * value_step +
                                                              line * pitch + k / of_unit)];
            if (k % of_unit == 0) byte = std::byte{0};
            byte |= static_cast<std::byte>(code.bits << 4 * (k % of_unit));
          });
        }
      }
    }
  }

  template <class Visit>
  void for_block(const BlockRow& row, std::int64_t i, std::int64_t j, const Visit& visit) const {
    for (std::int64_t line = i * row.across; line < (i + 1) * row.across; ++line) {
      for (std::int64_t k = j * row.along; k < (j + 1) * row.along; ++k) {
        visit(line, k, line < lines && k < length);
      }
    }
  }
};

/// The matrices of a case, and what becomes of them.
struct QuantisedTiles {
  explicit QuantisedTiles(const TileCase& of) : c(of) {
    const std::int64_t size = ElementType(c.kind).size();
    pitch = (c.cols * size + 15) / 16 * 16 + 16 * c.gap;
    // Entries of a list are some of three more than there are.
    pool = {c.matrices + (c.listed == 0 ? 3 : 0), c.rows + (c.listed == 1 ? 3 : 0)};
    step = pool[1] * pitch + 16 * c.gap;
    plain = values_for_blocks(c.kind, pool[0] * step / size);
    if (c.listed < 2) make_table();
    const auto entry = [&](int mode, std::int64_t k) {
      return c.listed == mode ? entry_of(c.places, table(), k) : k;
    };
    const auto at = [&](std::int64_t m, std::int64_t row, std::int64_t col) {
      const std::int64_t matrix = entry(0, m), of_matrix = entry(1, row);
      if (matrix < 0 || of_matrix < 0) return 0.0F;
      return value_at(c.kind, plain.data() + matrix * step + of_matrix * pitch + col * size);
    };
    if (c.along_rows) of_rows.emplace(c, true);
    if (c.along_cols) of_cols.emplace(c, false);
    BlockRule rule;
    rule.format = c.format;
    rule.scale = c.rule;
    Blocks blocks{rule, false, (of_rows ? of_rows : of_cols)->layout, {}};
    if (of_rows && of_cols) blocks.second = of_cols->layout;
    problem = block_problem(ElementType(c.kind), {c.matrices, c.rows, c.cols}, {step, pitch, size},
                            blocks);
    if (c.listed < 2) problem = with_listed_axis(problem, c.listed, c.places);
    before_ = {bytes(of_rows, &TileResult::values), bytes(of_rows, &TileResult::scales),
               bytes(of_cols, &TileResult::values), bytes(of_cols, &TileResult::scales)};
    if (of_rows) of_rows->make(c, at);
    if (of_cols) {
      of_cols->make(
          c, [&](std::int64_t m, std::int64_t col, std::int64_t row) { return at(m, row, col); });
    }
  }

  /// Values and scales along rows, then along columns: what they hold before, and what afterwards.
  /// Results begin TileResult::guard bytes behind the first.
  const std::vector<std::vector<std::byte>>& before() const { return before_; }
  std::vector<std::vector<std::byte>> after() const {
    return {bytes(of_rows, &TileResult::values), bytes(of_rows, &TileResult::scales),
            bytes(of_cols, &TileResult::values), bytes(of_cols, &TileResult::scales)};
  }
  /// Of memory for all four.
  template <class Address>
  Buffers buffers(const void* src, const Address& address) const {
    const auto at = [&](int i) { return static_cast<void*>(address(i) + TileResult::guard); };
    Buffers buffers{at(0), src, {}, {at(1)}};
    if (!of_rows) buffers = {at(2), src, {}, {at(3)}};
    buffers.blocks.tensor_scale = c.tensor;
    if (of_rows && of_cols) {
      buffers.blocks.second = at(2);
      buffers.blocks.second_scales = at(3);
    }
    if (c.listed < 2) buffers.lists.src = table();
    return buffers;
  }
  /// The list, and its bytes.
  const void* table() const {
    return c.places == Places::i32 ? static_cast<const void*>(narrow.data()) : wide.data();
  }
  std::size_t table_bytes() const { return wide.size() * (c.places == Places::i32 ? 4 : 8); }

  TileCase c;
  std::int64_t pitch, step;
  std::vector<std::int64_t> pool;
  std::vector<std::byte> plain;
  std::vector<std::int64_t> wide;
  std::vector<std::int32_t> narrow;
  std::optional<TileResult> of_rows, of_cols;
  Problem problem;

 private:
  // Any order, some entries several times, and a seventh of them nothing.
  void make_table() {
    std::mt19937 random(static_cast<unsigned>(c.rows * 1000 + c.cols));
    const std::int64_t count = c.listed == 0 ? c.matrices : c.rows;
    const auto most = static_cast<unsigned>(pool[static_cast<std::size_t>(c.listed)]);
    for (std::int64_t k = 0; k < count; ++k) {
      wide.push_back(random() % 7 == 0 ? -1 : static_cast<std::int64_t>(random() % most));
    }
    narrow.assign(wide.begin(), wide.end());
  }

  static std::vector<std::byte> bytes(const std::optional<TileResult>& of,
                                      std::vector<std::byte> TileResult::*which) {
    return of ? (*of).*which : std::vector<std::byte>(1);
  }
  std::vector<std::vector<std::byte>> before_;
};

/// Any format, rule, layout and shape; of the types that the kernel knows.
inline TileCase random_tile_case(std::mt19937& random, std::int64_t most) {
  const auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  constexpr BlockFormat formats[] = {BlockFormat::fp8_1x128,
                                     BlockFormat::fp8_e5m2_1x128,
                                     BlockFormat::fp8_128x128,
                                     BlockFormat::mxfp8_e4m3,
                                     BlockFormat::mxfp8_e5m2,
                                     BlockFormat::mxfp8_32x32,
                                     BlockFormat::fp8_e5m2_128x128,
                                     BlockFormat::mxfp8_e5m2_32x32,
                                     BlockFormat::nvfp4,
                                     BlockFormat::mxfp4};
  constexpr Kind kinds[] = {Kind::f32, Kind::f16, Kind::bf16};
  TileCase c;
  c.kind = kinds[below(3)];
  c.format = formats[below(10)];
  const bool e8m0 = c.row().scale == ScaleType::e8m0, square = c.row().across > 1;
  const bool e4m3 = c.row().scale == ScaleType::e4m3;
  constexpr BlockScale of_e8m0[] = {BlockScale::floor, BlockScale::ceil, BlockScale::even};
  c.rule = e8m0 ? of_e8m0[below(3)] : below(2) == 0 ? BlockScale::exact : BlockScale::ceil;
  if (e4m3) {
    constexpr float of_tensor[] = {1, 0.37F, 1e-38F, 1e30F,
                                   std::numeric_limits<float>::quiet_NaN()};
    c.rule = BlockScale::exact;
    c.tensor = of_tensor[below(5)];
  }
  if (c.row().scale_bytes() == 1 && !square) c.order = static_cast<ScaleOrder>(below(3));
  const std::int64_t vector = c.kind == Kind::f32 ? 4 : 8;
  c.rows = 1 + below(static_cast<int>(most));
  c.cols = vector * (1 + below(static_cast<int>(most / vector)));
  if (below(3) == 0) c.rows = (c.rows + 127) / 128 * 128;
  if (below(3) == 0) c.cols = (c.cols + 127) / 128 * 128;
  c.matrices = 1 + below(3) / 2;
  const int directions = below(3);
  c.along_rows = directions != 1;
  c.along_cols = directions != 0;
  c.scales_of_lines = below(2) == 0;
  c.gap = below(2);
  c.listed = std::min(below(4), 2);
  // No kernel takes these.
  if (c.row().element == BlockElement::e2m1 || (c.kind == Kind::f32 && directions == 2)) {
    c.listed = 2;
  }
  c.places = below(2) == 0 ? Places::i32 : Places::i64;
  return c;
}

}  // namespace cornerturn::test
