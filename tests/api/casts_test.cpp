// Scales in other orders, blocks transposed as they are stored, and groups: against plain loops,
// and against calls that quantise each part by itself.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <random>
#include <string>

#include "api/element_types.hpp"
#include "cornerturn/cornerturn.h"
#include "cornerturn/cornerturn.hpp"

namespace cornerturn {
namespace {

using Codes = std::vector<std::uint8_t>;

const ElementType of_codes(Kind::u8), of_e4m3(Kind::f8_e4m3), of_fours = ElementType::bytes(4);

std::size_t size_of(std::int64_t count) {
  return static_cast<std::size_t>(count);
}

std::int64_t up(std::int64_t count, std::int64_t multiple) {
  return (count + multiple - 1) / multiple * multiple;
}

std::string error_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

// Scales of matrices in an order, packed.
struct Stored {
  ScaleOrder order;
  Codes bytes;
  ElementType type = of_codes;
  Extents shape;

  Stored(ScaleOrder in, std::int64_t matrices, std::int64_t lines, std::int64_t count) : order(in) {
    shape = {matrices, lines, count};
    if (order == ScaleOrder::packed_4) {
      shape[2] = up(count, 4) / 4;
      type = of_fours;
    }
    if (order == ScaleOrder::tiles_128x4) {
      shape = {matrices, up(lines, 128) / 128, up(count, 4) / 4, 512};
    }
    std::int64_t all = type.size();
    for (const std::int64_t extent : shape) all *= extent;
    bytes.assign(size_of(all), 0xee);
  }
  // The formula of the documentation.
  std::uint8_t& at(std::int64_t m, std::int64_t i, std::int64_t j) {
    if (order == ScaleOrder::tiles_128x4) {
      const std::int64_t tile = (m * shape[1] + i / 128) * shape[2] + j / 4;
      return bytes[size_of(tile * 512 + i % 32 * 16 + i % 128 / 32 * 4 + j % 4)];
    }
    const std::int64_t row = shape[2] * type.size();
    return bytes[size_of((m * shape[1] + i) * row + j)];
  }
  View view() { return {bytes.data(), type, shape}; }
};

TEST(Casts, ScalesComeIntoEveryOrder) {
  std::mt19937 random(3);
  for (int n = 0; n < 40; ++n) {
    const std::int64_t matrices = 1 + random() % 2, lines = 1 + random() % 300,
                       count = 1 + random() % 20;
    for (const ScaleOrder from :
         {ScaleOrder::strided, ScaleOrder::packed_4, ScaleOrder::tiles_128x4}) {
      Stored source(from, matrices, lines, count);
      for (std::uint8_t& byte : source.bytes) byte = static_cast<std::uint8_t>(random());
      for (const ScaleOrder to :
           {ScaleOrder::strided, ScaleOrder::packed_4, ScaleOrder::tiles_128x4}) {
        Stored got(to, matrices, lines, count), expected(to, matrices, lines, count);
        std::fill(expected.bytes.begin(), expected.bytes.end(), std::uint8_t{0});
        for (std::int64_t m = 0; m < matrices; ++m) {
          for (std::int64_t i = 0; i < lines; ++i) {
            for (std::int64_t j = 0; j < count; ++j) expected.at(m, i, j) = source.at(m, i, j);
          }
        }
        convert_scales(got.view(), to, source.view(), from, {matrices, lines, count});
        ASSERT_EQ(got.bytes, expected.bytes) << lines << " x " << count;
      }
    }
  }
}

TEST(Casts, ScalesThatDoNotFitAreRefused) {
  Codes bytes(512), tile(512);
  const View tiles(tile.data(), of_codes, {1, 1, 512});
  const ConstView scales(bytes.data(), of_codes, {100, 4});
  const auto error = [&](const View& dst, ScaleOrder to, const ConstView& src, Extents shape) {
    return error_of([&] { convert_scales(dst, to, src, ScaleOrder::strided, shape); });
  };
  EXPECT_EQ(error(tiles, ScaleOrder::tiles_128x4, scales, {100, 5}),
            "dst.shape = (1, 1, 512) has to be (1, 2, 512)");
  EXPECT_EQ(error(tiles, ScaleOrder::tiles_128x4, scales, {99, 4}),
            "src.shape = (100, 4) has to be (99, 4)");
  EXPECT_EQ(error(tiles, ScaleOrder::tiles_128x4, {bytes.data(), f32, {4, 4}}, {4, 4}),
            "src.type = f32 has 4 bytes, and scales in fours and tiles are bytes");
  EXPECT_EQ(error(tiles, ScaleOrder::tiles_128x4, {tile.data(), of_codes, {4, 4}}, {4, 4}),
            "dst overlaps src in memory");
  EXPECT_EQ(error(tiles, ScaleOrder::tiles_128x4, scales, {4}),
            "shape = (4) has to have lines, and scales of a line");
  EXPECT_EQ(tile, Codes(512));
}

// A matrix in blocks, with packed arrays.
struct Matrix {
  BlockFormat format;
  std::int64_t rows, columns;
  Codes values, scales;
  Extents value_shape, scale_shape;
  ElementType value_type = of_e4m3, scale_type = of_codes;

  Matrix(BlockFormat of, std::int64_t r, std::int64_t c) : format(of), rows(r), columns(c) {
    const bool halves = format == BlockFormat::mxfp4 || format == BlockFormat::nvfp4;
    const bool wide = format == BlockFormat::fp8_1x128 || format == BlockFormat::fp8_128x128;
    const std::int64_t along = wide ? 128 : format == BlockFormat::nvfp4 ? 16 : 32;
    const std::int64_t across = format == BlockFormat::fp8_128x128 ? 128 : 1;
    if (halves) value_type = of_codes;
    if (format == BlockFormat::mxfp8_e5m2) value_type = ElementType(Kind::f8_e5m2);
    if (wide) scale_type = f32;
    value_shape = {r, c / (halves ? 2 : 1)};
    scale_shape = {r / across, c / along};
    values.resize(size_of(value_shape[0] * value_shape[1]));
    scales.resize(size_of(scale_shape[0] * scale_shape[1] * scale_type.size()));
  }
  View of_values() { return {values.data(), value_type, value_shape}; }
  View of_scales() { return {scales.data(), scale_type, scale_shape}; }

  std::vector<float> numbers() {
    std::vector<float> all(size_of(rows * columns));
    const ConstView stored_values(of_values()), stored_scales(of_scales());
    dequantise(format, View(all.data(), f32, {rows, columns}), stored_values, &stored_scales, 1);
    return all;
  }
};

std::vector<float> transposed(const std::vector<float>& x, std::int64_t rows,
                              std::int64_t columns) {
  std::vector<float> turned(x.size());
  transpose(turned.data(), x.data(), rows, columns);
  return turned;
}

// The numbers stay, bit by bit, and the scale of a line is the largest in its square.
void expect_transposed(Matrix& source) {
  Matrix turned(source.format, source.columns, source.rows);
  transpose_blocks(source.format, turned.of_values(), turned.of_scales(), source.of_values(),
                   source.of_scales());
  const std::vector<float> got = turned.numbers();
  const std::vector<float> expected = transposed(source.numbers(), source.rows, source.columns);
  for (std::size_t i = 0; i < got.size(); ++i) {
    ASSERT_TRUE(got[i] == expected[i] || (std::isnan(got[i]) && std::isnan(expected[i])))
        << got[i] << " instead of " << expected[i];
  }
}

TEST(Casts, BlocksWithEqualScalesMove) {
  std::mt19937 random(5);
  for (const BlockFormat format :
       {BlockFormat::fp8_1x128, BlockFormat::fp8_128x128, BlockFormat::mxfp8_e4m3,
        BlockFormat::mxfp8_e5m2, BlockFormat::mxfp4, BlockFormat::nvfp4}) {
    Matrix source(format, 256, 384);
    for (std::uint8_t& code : source.values) code = static_cast<std::uint8_t>(random());
    // One for all of the matrix.
    for (std::size_t i = 0; i < source.scales.size(); ++i) {
      source.scales[i] = std::array<std::uint8_t, 4>{0x12, 0x9a, 0x3c, 0x3e}[i % 4];
      if (source.scale_type == of_codes) source.scales[i] = 0x47;
    }
    expect_transposed(source);
  }
}

TEST(Casts, PowersOfTwoMoveIntoTheCodes) {
  std::mt19937 random(6);
  for (const BlockFormat format :
       {BlockFormat::mxfp8_e4m3, BlockFormat::mxfp8_e5m2, BlockFormat::mxfp4}) {
    Matrix source(format, 64, 96);
    // e4m3 has normal numbers from 2^-6, e5m2 from 2^-14, e2m1 from 1: halves of them exist.
    const auto least = format == BlockFormat::mxfp4 ? 0x44U : 0x38U;
    for (std::uint8_t& code : source.values) {
      const auto sign = static_cast<std::uint8_t>(random() & (least == 0x44U ? 0x88 : 0x80));
      code = static_cast<std::uint8_t>(least | (random() & (least == 0x44U ? 0x22 : 0x03)) | sign);
    }
    for (std::uint8_t& code : source.scales) code = static_cast<std::uint8_t>(126 + random() % 2);
    expect_transposed(source);
  }
}

TEST(Casts, WhatCannotStayIsRefusedAndNothingIsWritten) {
  Matrix source(BlockFormat::mxfp8_e4m3, 64, 64);
  std::fill(source.values.begin(), source.values.end(), std::uint8_t{0x38});  // 1
  std::fill(source.scales.begin(), source.scales.end(), std::uint8_t{127});
  source.values[40 * 64 + 7] = 1;  // the least denormal
  source.scales[41 * 2] = 128;
  Matrix turned(source.format, 64, 64);
  const auto transpose_it = [&] {
    transpose_blocks(source.format, turned.of_values(), turned.of_scales(), source.of_values(),
                     source.of_scales());
  };
  EXPECT_EQ(error_of(transpose_it),
            "format = mxfp8_e4m3: value (40, 7) cannot stay what it is with the largest scale of "
            "its square of blocks; dequantise, and quantise the transpose");
  EXPECT_EQ(turned.values, Codes(64 * 64));
  EXPECT_EQ(turned.scales, Codes(64 * 2));
  source.values[40 * 64 + 7] = 2;
  expect_transposed(source);
  source.scales[0] = 255;  // NaN: its line becomes NaNs with the scale of the others
  expect_transposed(source);
  Matrix odd(BlockFormat::mxfp8_e4m3, 40, 64);
  EXPECT_EQ(error_of([&] {
              transpose_blocks(odd.format, turned.of_values(), turned.of_scales(), odd.of_values(),
                               odd.of_scales());
            }),
            "src_values.shape[0]: 40 values are no multiple of 32, a block of mxfp8_e4m3");
  EXPECT_EQ(error_of([&] {
              transpose_blocks(BlockFormat::q4_0, turned.of_values(), turned.of_scales(),
                               odd.of_values(), odd.of_scales());
            }),
            "format = q4_0: the scales of its blocks are inside them");
}

std::vector<float> numbers_of(std::int64_t count) {
  std::mt19937 random(9);
  std::normal_distribution<float> normal(0, 3);
  std::vector<float> result(size_of(count));
  for (float& x : result) x = normal(random);
  return result;
}

// Each group by itself, into arrays of its own that are then put together.
TEST(Casts, GroupsAreWhatEachIsByItself) {
  const Extents sizes{70, 0, 128, 33, 1};
  const std::int64_t columns = 224;
  const std::vector<float> x = numbers_of(232 * columns);
  for (const int axis : {0, 1}) {
    for (const bool tiled : {false, true}) {
      BlockOptions options;
      options.pad = true;
      if (tiled) options.scale_order = ScaleOrder::tiles_128x4;
      Codes values, scales;
      std::int64_t first = 0, rows = 0, blocks = 0;
      for (const std::int64_t size : sizes) {
        const std::int64_t group_rows = axis == 0 ? up(size, 32) : size;
        Codes codes(size_of(group_rows * columns));
        const Extents of_blocks =
            axis == 0 ? Extents{group_rows / 32, columns} : Extents{size, columns / 32};
        Codes of_group(size_of(of_blocks[0] * of_blocks[1]));
        View view(of_group.data(), of_codes, of_blocks);
        if (tiled) {
          const std::int64_t lines = axis == 0 ? columns : size;
          const std::int64_t line_tiles = up(lines, 128) / 128;
          const std::int64_t fours = up(axis == 0 ? of_blocks[0] : of_blocks[1], 4) / 4;
          of_group.resize(size_of(line_tiles * fours * 512));
          view = {of_group.data(), of_codes, {line_tiles, fours, 512}};
          if (axis == 0) view = view.permuted({1, 0, 2});
        }
        quantise(BlockFormat::mxfp8_e4m3, View(codes.data(), of_e4m3, {group_rows, columns}), &view,
                 ConstView(x.data() + first * columns, f32, {size, columns}), axis, options);
        values.insert(values.end(), codes.begin(), codes.end());
        scales.insert(scales.end(), of_group.begin(), of_group.end());
        first += size;
        rows += group_rows;
        blocks += of_blocks[0];
      }
      Codes got(values.size()), got_scales(scales.size());
      const auto tiles = static_cast<std::int64_t>(scales.size()) / 512;
      const View of_scales(got_scales.data(), of_codes,
                           tiled       ? Extents{tiles, 512}
                           : axis == 0 ? Extents{blocks, columns}
                                       : Extents{blocks, columns / 32});
      quantise_groups(BlockFormat::mxfp8_e4m3, View(got.data(), of_e4m3, {rows, columns}),
                      &of_scales, ConstView(x.data(), f32, {232, columns}), sizes, axis, options);
      EXPECT_EQ(got, values) << axis;
      EXPECT_EQ(got_scales, scales) << axis;
    }
  }
}

TEST(Casts, GroupsThatDoNotFitAreRefused) {
  const std::vector<float> x = numbers_of(100 * 64);
  Codes values(128 * 64), scales(4 * 64);
  const View of_values(values.data(), of_e4m3, {128, 64}),
      of_scales(scales.data(), of_codes, {4, 64});
  const auto error = [&](const Extents& sizes, bool pad) {
    BlockOptions options;
    options.pad = pad;
    return error_of([&] {
      quantise_groups(BlockFormat::mxfp8_e4m3, of_values, &of_scales,
                      ConstView(x.data(), f32, {100, 64}), sizes, 0, options);
    });
  };
  EXPECT_EQ(error({64, 36}, false),
            "sizes[1] = 36 is no multiple of 32: it is padded with zeros only where options.pad "
            "asks for it");
  EXPECT_EQ(error({64, 35}, true), "sizes have 99 rows together, and src.shape[0] = 100");
  EXPECT_EQ(error({-4, 104}, true), "sizes[0] = -4 is negative");
  EXPECT_EQ(error({10, 20, 30, 40}, true), "values.shape = (128, 64) has to be (160, 64)");
  EXPECT_EQ(values, Codes(128 * 64));
}

// The same through the functions of C.
TEST(Casts, OfC) {
  Stored source(ScaleOrder::strided, 1, 130, 5), got(ScaleOrder::tiles_128x4, 1, 130, 5);
  Stored expected(ScaleOrder::tiles_128x4, 1, 130, 5);
  for (std::size_t i = 0; i < source.bytes.size(); ++i) {
    source.bytes[i] = static_cast<std::uint8_t>(i);
  }
  const Extents shape{1, 130, 5};
  convert_scales(expected.view(), expected.order, source.view(), source.order, shape);
  const ct_view dst{got.bytes.data(), "u8", 4, got.shape.data(), nullptr};
  const ct_const_view src{source.bytes.data(), "u8", 3, source.shape.data(), nullptr};
  EXPECT_EQ(ct_convert_scales(&dst, CT_SCALES_TILES_128X4, &src, CT_SCALES_STRIDED, 3, shape.data(),
                              nullptr),
            CT_OK);
  EXPECT_EQ(got.bytes, expected.bytes);
  EXPECT_NE(ct_convert_scales(&dst, 7, &src, CT_SCALES_STRIDED, 3, shape.data(), nullptr), CT_OK);

  const std::vector<float> x = numbers_of(96 * 64);
  const std::int64_t sizes[] = {32, 64}, of_x[] = {96, 64}, of_codes_shape[] = {96, 2};
  Codes values(96 * 64), codes(96 * 2), other(64 * 96), other_codes(64 * 3);
  const ct_view to{values.data(), "f8_e4m3", 2, of_x, nullptr};
  const ct_view to_codes{codes.data(), "u8", 2, of_codes_shape, nullptr};
  const ct_const_view from{x.data(), "f32", 2, of_x, nullptr};
  EXPECT_EQ(ct_quantise_groups("mxfp8_e4m3", &to, &to_codes, &from, 2, sizes, 1, nullptr), CT_OK);
  Codes whole(values.size()), whole_codes(codes.size());
  const View whole_scales(whole_codes.data(), of_codes, {96, 2});
  quantise(BlockFormat::mxfp8_e4m3, View(whole.data(), of_e4m3, {96, 64}), &whole_scales,
           ConstView(x.data(), f32, {96, 64}), 1);
  EXPECT_EQ(values, whole);
  EXPECT_EQ(codes, whole_codes);

  std::fill(codes.begin(), codes.end(), std::uint8_t{127});
  const std::int64_t turned[] = {64, 96}, turned_codes[] = {64, 3};
  const ct_view to_t{other.data(), "f8_e4m3", 2, turned, nullptr};
  const ct_view to_t_codes{other_codes.data(), "u8", 2, turned_codes, nullptr};
  const ct_const_view stored{values.data(), "f8_e4m3", 2, of_x, nullptr};
  const ct_const_view stored_codes{codes.data(), "u8", 2, of_codes_shape, nullptr};
  EXPECT_EQ(ct_transpose_blocks("mxfp8_e4m3", &to_t, &to_t_codes, &stored, &stored_codes, nullptr),
            CT_OK);
  EXPECT_EQ(other[1], values[64]);
  EXPECT_EQ(other_codes, Codes(64 * 3, 127));
}

}  // namespace
}  // namespace cornerturn
