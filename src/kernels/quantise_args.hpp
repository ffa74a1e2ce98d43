// What kernels are told that quantise matrices in tiles: the matrices, and where each result lies.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/context.hpp"
#include "kernels/lists.hpp"
#include "kernels/scale_steps.hpp"
#include "maps/fast_divide.hpp"
#include "values/blocks.hpp"

namespace cornerturn::kernels {

/// Lines of values that lie next to each other, and their scales. Steps are in bytes.
struct TileSide {
  std::byte* values = nullptr;  ///< null: not wanted
  std::byte* scales = nullptr;
  std::uint32_t lines = 0;      ///< those that fill up blocks of several lines with them
  std::uint32_t length = 0;     ///< of a line, in values of whole blocks
  std::int64_t pitch = 0;       ///< from one line of values to the next
  std::int64_t value_step = 0;  ///< from one matrix to the next
  std::int64_t scale_step = 0;
  /// Lines of scales are counted by blocks where these have several lines.
  std::uint32_t scale_lines = 0;
  ScaleSteps steps;
  std::int64_t square_step = 0;    ///< from a line's blocks in a square to those in the next one
  std::uint32_t scale_blocks = 0;  ///< that have scales, of a line
  bool words = false;              ///< four scales of a line are a word
  bool tiles = false;              ///< scales lie in tiles of 128 lines

  CT_DEVICE std::byte* values_of(std::int64_t matrix) const { return values + matrix * value_step; }
  CT_DEVICE std::byte* scale_at(std::int64_t matrix, std::uint32_t line,
                                std::uint32_t square) const {
    return scales + matrix * scale_step + steps.of_line(line) + square * square_step;
  }
};

struct QuantiseTileArgs {
  const std::byte* src = nullptr;
  std::int64_t pitch = 0;     ///< bytes from one row to the next
  std::int64_t src_step = 0;  ///< from one matrix to the next
  std::uint32_t matrices = 1;
  std::uint32_t rows = 0;
  std::uint32_t cols = 0;   ///< a multiple of the elements of 16 bytes
  Kind kind = Kind::f32;    ///< of the source: f32, f16 or bf16
  bool e2m1 = false;        ///< two values in a byte
  bool e5m2 = false;        ///< else e4m3
  bool f32_scales = false;  ///< else E8M0
  bool e4m3_scales = false;
  bool square = false;  ///< a scale for as many lines as a block is long
  values::BlockScale rule = values::BlockScale::floor;
  float tensor = 1;       ///< the tensor's scale, for those of E4M3
  FastDivide tiles_fast;  ///< tiles that follow each other
  ListSide from;          ///< of the rows, or of the matrices; steps: of neither
  bool lists_rows = false;
  TileSide along_rows;  ///< a result of the matrix's own shape
  TileSide along_cols;  ///< the transposed one
};

/// Calls call.operator()<S>() with the type of a matrix's elements.
template <class Call>
void with_source(Kind kind, Call&& call) {
  switch (kind) {
    case Kind::f32:
      return call.template operator()<float>();
    case Kind::f16:
      return call.template operator()<values::F16>();
    default:
      return call.template operator()<values::BF16>();
  }
}

}  // namespace cornerturn::kernels
