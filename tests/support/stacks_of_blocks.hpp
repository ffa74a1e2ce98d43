// Stacks of matrices made of lines of blocks of 32: codes and scales of every kind, in which no
// line need begin at a multiple of 16.
#pragma once

#include <cmath>

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
  bool odd_rows = false;      ///< rows of a matrix do not begin at multiples of 16 bytes
};

/// The axes are matrices, lines, and values of a line.
inline AnyBlocksCase stack_of_lines(const StackOfLines& s) {
  AnyBlocksCase c;
  c.type = ElementType(s.kind);
  c.shape = {s.matrices, s.lines, s.length};
  c.axis = 2;
  c.rule.format = s.format;
  const std::int64_t size = c.type.size();
  const std::int64_t row = (s.turned ? s.lines : s.length) * size;
  const std::int64_t pitch = (row + 15) / 16 * 16 + (s.odd_rows ? size : 16);
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

/// A line of f32 for q8_0: halves and what lies nearest to them, in blocks whose scale is 1.
inline AnyBlocksCase halves() {
  std::vector<float> x;
  for (int whole = 0; whole < 127; ++whole) {
    for (const float sign : {1.0F, -1.0F}) {
      const float half = static_cast<float>(whole) + 0.5F;
      for (const float y : {std::nextafter(half, 0.0F), half, std::nextafter(half, 127.0F)}) {
        if (x.size() % 32 == 0) x.push_back(127);
        x.push_back(sign * y);
      }
    }
  }
  x.resize((x.size() + 31) / 32 * 32, 0.0F);
  const auto length = static_cast<std::int64_t>(x.size());
  AnyBlocksCase c = stack_of_lines({.length = length});
  c.shape = {length};
  c.axis = 0;
  c.plain.strides = {4};
  c.values.strides = {34};
  c.plain.bytes.resize(4 * x.size());
  std::memcpy(c.plain.bytes.data(), x.data(), c.plain.bytes.size());
  c.values.bytes.assign(x.size() / 32 * 34, std::byte{0xa5});
  return c;
}

/// Calls visit(case) for all formats, kinds and directions: whole tiles and parts of them, at
/// several places.
template <class Visit>
void for_stacks_of_lines(const Visit& visit) {
  using values::BlockFormat;
  for (const BlockFormat format :
       {BlockFormat::q8_0, BlockFormat::mxfp8_e4m3, BlockFormat::mxfp8_e5m2}) {
    for (const Kind kind : {Kind::f32, Kind::f16, Kind::bf16}) {
      for (const bool turned : {false, true}) {
        const std::int64_t unit = format == BlockFormat::q8_0 ? 2 : 8;
        visit(StackOfLines{kind, format, turned, 1, 64, 256, 0, 0});
        visit(StackOfLines{kind, format, turned, 1, 128, 256, unit, 0});
        visit(StackOfLines{kind, format, turned, 1, 130, 544, unit, 0});
        visit(StackOfLines{kind, format, turned, 3, 71, 96, 16 - unit, unit});
        visit(StackOfLines{kind, format, turned, 2, 5, 333, 3 * unit, 3 * unit});
        visit(StackOfLines{kind, format, turned, 2, 64, 31, 0, 16 - unit});
        visit(StackOfLines{kind, format, turned, 1, 2, 290, unit, 0});
      }
    }
  }
}

/// Visits what only the kernel for any layout takes: tiles of every shape, and codes of which
/// a lane moves 1, 2 or 4 bytes.
template <class Visit>
void for_odd_stacks_of_lines(const Visit& visit) {
  using values::BlockFormat;
  for (const BlockFormat format :
       {BlockFormat::q8_0, BlockFormat::mxfp8_e4m3, BlockFormat::mxfp8_e5m2}) {
    for (const Kind kind : {Kind::f32, Kind::f16, Kind::bf16, Kind::f64}) {
      for (const bool turned : {false, true}) {
        const auto one = [&](std::int64_t matrices, std::int64_t lines, std::int64_t length,
                             std::int64_t start, std::int64_t gap) {
          visit(StackOfLines{kind, format, turned, matrices, lines, length, start, gap, true});
        };
        one(1, 37, 512, 0, 0);
        one(1, 33, 544, 0, 0);
        one(2, 43, 256, 2, 4);
        one(1, 35, 256, 1, 0);
        one(1, 67, 111, 0, 0);
        one(1, 131, 64, 4, 0);
        one(1, 34, 288, 0, 2);
        one(1, 300, 31, 0, 0);
        one(1, 3, 992, 0, 0);
        one(3, 2, 320, 6, 2);
        one(1, 2, 290, 0, 1);
      }
    }
  }
}

}  // namespace cornerturn::test
