// Stacks of matrices made of lines of blocks of 32: codes and scales of every kind, in which no
// line need begin at a multiple of 16.
#pragma once

#include "support/any_blocks.hpp"

namespace cornerturn::test {

struct StackOfLines {
  Kind kind = Kind::f32;
  values::BlockFormat format = values::BlockFormat::q8_0;
  bool turned = false;  ///< lines are columns of the matrices
  std::int64_t matrices = 1;
  std::int64_t lines = 64;
  std::int64_t length = 256;  ///< the last block need not be full
  std::int64_t start = 0;     ///< bytes before the first line
  std::int64_t gap = 0;       ///< bytes between lines
};

/// The axes are matrices, lines, and values of a line; rows of a matrix are multiples of 16 bytes.
inline AnyBlocksCase stack_of_lines(const StackOfLines& s) {
  AnyBlocksCase c;
  c.type = ElementType(s.kind);
  c.shape = {s.matrices, s.lines, s.length};
  c.axis = 2;
  c.rule.format = s.format;
  const std::int64_t size = c.type.size();
  const std::int64_t row = (s.turned ? s.lines : s.length) * size;
  const std::int64_t pitch = (row + 15) / 16 * 16 + 16;
  c.plain.strides = {pitch * (s.turned ? s.length : s.lines), pitch, size};
  if (s.turned) std::swap(c.plain.strides[1], c.plain.strides[2]);
  c.plain.bytes.assign(static_cast<std::size_t>(c.plain.strides[0] * s.matrices), std::byte{0x5a});
  const std::int64_t blocks = (s.length + 31) / 32;
  const std::int64_t line = blocks * (c.q8() ? 34 : 32);
  c.values.first = s.start;
  c.values.strides = {(line + s.gap) * s.lines, line + s.gap, c.q8() ? 34 : 1};
  // No byte past the last line: none may be read.
  c.values.bytes.resize(
      static_cast<std::size_t>(s.start + c.values.strides[0] * s.matrices - s.gap));
  if (!c.q8()) {
    c.scales.strides = {blocks * s.lines, blocks, 1};
    c.scales.bytes.resize(static_cast<std::size_t>(blocks * s.lines * s.matrices));
  }
  std::mt19937 random(static_cast<unsigned>(s.lines * 1000 + s.length));
  for (Side* side : {&c.values, &c.scales}) {
    for (std::byte& byte : side->bytes) byte = static_cast<std::byte>(random() >> 24);
  }
  return c;
}

/// Calls visit(case) for all formats, kinds and directions: whole tiles and parts of them, at
/// several places.
template <class Visit>
void for_stacks_of_lines(const Visit& visit) {
  using values::BlockFormat;
  for (const BlockFormat format : {BlockFormat::q8_0, BlockFormat::mx_e4m3, BlockFormat::mx_e5m2}) {
    for (const Kind kind : {Kind::f32, Kind::f16, Kind::bf16}) {
      for (const bool turned : {false, true}) {
        const std::int64_t unit = format == BlockFormat::q8_0 ? 2 : 8;
        visit(StackOfLines{kind, format, turned, 1, 64, 256, 0, 0});
        visit(StackOfLines{kind, format, turned, 1, 130, 544, unit, 0});
        visit(StackOfLines{kind, format, turned, 3, 71, 96, 16 - unit, unit});
        visit(StackOfLines{kind, format, turned, 2, 5, 333, 3 * unit, 3 * unit});
        visit(StackOfLines{kind, format, turned, 2, 64, 31, 0, 16 - unit});
        visit(StackOfLines{kind, format, turned, 1, 2, 290, unit, 0});
      }
    }
  }
}

}  // namespace cornerturn::test
