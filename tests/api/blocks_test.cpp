// Quantising in blocks, linked as a user links it.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <numeric>
#include <random>

#include "api/element_types.hpp"
#include "cornerturn/cornerturn.hpp"

namespace cornerturn {
namespace {

const ElementType q8 = ElementType::bytes(q8_0_bytes);
using Bytes = std::vector<std::uint8_t>;

std::vector<float> numbers(std::int64_t count) {
  std::mt19937 random(9);
  std::normal_distribution<float> normal(0, 3);
  std::vector<float> result(static_cast<std::size_t>(count));
  for (float& x : result) x = normal(random);
  return result;
}

template <class Call>
std::string refused(const Call& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

// A transposition first and then blocks is the same as both at once.
TEST(Blocks, AnyStridesAnyAxis) {
  const std::vector<float> src = numbers(96 * 5 * 70);
  const ConstView view(src.data(), f32, {96, 5, 70});
  std::vector<float> turned(src.size());
  permute(turned.data(), view, {2, 1, 0});
  const auto rows = static_cast<std::size_t>(70 * 5);
  Bytes expected(rows * 3 * 34), got(expected.size());
  quantise_q8_0(View(expected.data(), q8, {70, 5, 3}), ConstView(turned.data(), f32, {70, 5, 96}),
                2);
  quantise_q8_0(View(got.data(), q8, {70, 5, 3}), view.permuted({2, 1, 0}), 2);
  EXPECT_EQ(got, expected);
  // Along the first axis: block (k, i, j) is that of row (j, i).
  Bytes first(expected.size());
  quantise_q8_0(View(first.data(), q8, {3, 5, 70}), view, 0);
  for (std::size_t k = 0; k < 3; ++k) {
    for (std::size_t i = 0; i < 5; ++i) {
      for (std::size_t j = 0; j < 70; ++j) {
        ASSERT_EQ(std::memcmp(&first[((k * 5 + i) * 70 + j) * 34],
                              &expected[((j * 5 + i) * 3 + k) * 34], 34),
                  0);
      }
    }
  }
}

TEST(Blocks, ThereAndBack) {
  const std::vector<float> src = numbers(64 * 130);
  const ConstView view(src.data(), f32, {130, 64});
  Bytes blocks(130 * 2 * 34);
  quantise_q8_0(View(blocks.data(), q8, {130, 2}), view, 1);
  std::vector<float> back(src.size());  // transposed on the way
  dequantise_q8_0(View(back.data(), f32, {64, 130}).permuted({1, 0}),
                  ConstView(blocks.data(), q8, {130, 2}), 1);
  for (std::size_t i = 0; i < 130; ++i) {
    for (std::size_t b = 0; b < 64; b += 32) {
      float amax = 0;
      for (std::size_t j = b; j < b + 32; ++j) amax = std::max(amax, std::abs(src[i * 64 + j]));
      for (std::size_t j = b; j < b + 32; ++j) {
        ASSERT_NEAR(back[j * 130 + i], src[i * 64 + j], amax / 127 * 0.51F + amax * 0.001F);
      }
    }
  }
}

TEST(Blocks, BothDirectionsAreTheTwoSingleOnes) {
  const std::vector<float> src = numbers(320 * 160);
  const ConstView view(src.data(), f32, {320, 160});
  Bytes rows(src.size()), columns(src.size()), row_scales(320 * 5), column_scales(160 * 10);
  quantise_mxfp8_both(View(rows.data(), e4m3, {320, 160}), View(row_scales.data(), u8, {320, 5}),
                      View(columns.data(), e4m3, {160, 320}),
                      View(column_scales.data(), u8, {160, 10}), view);
  Bytes values(src.size()), scales(320 * 5);
  quantise_mxfp8(View(values.data(), e4m3, {320, 160}), View(scales.data(), u8, {320, 5}), view, 1);
  EXPECT_EQ(rows, values);
  EXPECT_EQ(row_scales, scales);
  scales.resize(160 * 10);
  quantise_mxfp8(View(values.data(), e4m3, {160, 320}), View(scales.data(), u8, {160, 10}),
                 view.permuted({1, 0}), 1);
  EXPECT_EQ(columns, values);
  EXPECT_EQ(column_scales, scales);
  std::vector<float> back(src.size());
  dequantise_mxfp8(View(back.data(), f32, {320, 160}),
                   ConstView(values.data(), e4m3, {160, 320}).permuted({1, 0}),
                   ConstView(scales.data(), u8, {160, 10}).permuted({1, 0}), 0);
  for (std::size_t i = 0; i < src.size(); ++i) {
    ASSERT_NEAR(back[i], src[i], std::abs(src[i]) / 8 + 0.01F);
  }
}

TEST(Blocks, PaddingIsZeros) {
  const std::vector<float> src = numbers(3 * 40);
  const ConstView view(src.data(), f32, {3, 40});
  Bytes blocks(3 * 2 * 34, 0xAA);
  BlockOptions options;
  EXPECT_EQ(
      refused([&] {
        quantise_q8_0(View(blocks.data(), q8, {3, 2}), view, 1, options);
      }),
      "src.shape[1] = 40 is no multiple of 32: it is padded with zeros only where options.pad "
      "asks for it");
  EXPECT_EQ(blocks[0], 0xAA);
  options.pad = true;
  quantise_q8_0(View(blocks.data(), q8, {3, 2}), view, 1, options);
  for (std::size_t i = 34 + 2 + 8; i < 68; ++i) EXPECT_EQ(blocks[i], 0);
  std::vector<float> back(src.size());
  dequantise_q8_0(View(back.data(), f32, {3, 40}), ConstView(blocks.data(), q8, {3, 2}), 1);
  for (std::size_t i = 0; i < src.size(); ++i) EXPECT_NEAR(back[i], src[i], 0.1);
}

// Such a plan has more arrays than execute() takes.
TEST(Blocks, ExecuteRefusesTheirPlans) {
  const std::vector<float> src(64 * 32, 1.0F);
  Bytes out(src.size(), 7);
  const Plan plan =
      plan_quantise_q8_0(View(out.data(), q8, {64, 1}), ConstView(src.data(), f32, {64, 32}), 1);
  EXPECT_EQ(refused([&] { execute(plan, out.data(), src.data()); }),
            "plan: its operation is quantise, execute() runs move and convert; the functions of "
            "cornerturn/blocks.hpp find and run such plans");
  EXPECT_EQ(out, Bytes(src.size(), 7));
  const Plan reduces = plan_amax(ConstView(src.data(), f32, {64, 32}));
  EXPECT_EQ(refused([&] { execute(reduces, out.data(), src.data()); }),
            "plan: its operation is reduce, execute() runs move and convert; the functions of "
            "cornerturn/amax.hpp find and run such plans");
}

TEST(Blocks, WhatIsWrongIsNamed) {
  std::vector<float> src(64 * 32);
  Bytes out(src.size());
  const ConstView view(src.data(), f32, {64, 32});
  EXPECT_EQ(refused([&] {
              quantise_q8_0(View(out.data(), q8, {64, 1}), view, 2);
            }),
            "axis = 2 is out of range for rank 2");
  EXPECT_EQ(refused([&] {
              quantise_q8_0(View(out.data(), u8, {64, 1}), view, 1);
            }),
            "blocks.type = u8 has to be b34");
  EXPECT_EQ(refused([&] {
              quantise_q8_0(View(out.data(), q8, {64, 2}), view, 1);
            }),
            "blocks.shape = (64, 2) has to be (64, 1)");
  EXPECT_EQ(refused([&] {
              quantise_q8_0(View(src.data(), q8, {64, 1}), view, 1);
            }),
            "blocks overlaps src in memory");
  EXPECT_EQ(
      refused([&] {
        quantise_mxfp8(View(out.data(), u8, {64, 32}), View(out.data(), u8, {64, 1}), view, 1);
      }),
      "values.type = u8 has to be f8_e4m3 or f8_e5m2");
  const ConstView complex(src.data(), ElementType(Kind::c64), {32, 32});
  EXPECT_NE(refused([&] {
              quantise_q8_0(View(out.data(), q8, {32, 1}), complex, 1);
            }).find("src.type = c64 has no real values"),
            std::string::npos);
}

}  // namespace
}  // namespace cornerturn
