#include "values/blocks.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <random>

#include "values/special_values.hpp"

namespace cornerturn::values {
namespace {

Q8Block q8_of(const std::array<float, block_size>& values) {
  std::uint32_t amax = 0;
  for (const float x : values) amax = std::max(amax, magnitude_of(x));
  const Q8Scale scale = q8_scale(amax);
  Q8Block block{scale.stored, {}};
  std::transform(values.begin(), values.end(), block.values,
                 [&](float x) { return q8_value(x, scale.inverse); });
  return block;
}

TEST(Q8, RoundsAsRoundfDoes) {
  std::mt19937 random(2);
  std::uniform_real_distribution<float> any(-126.9F, 126.9F);
  for (int i = 0; i < 100'000; ++i) {
    const float x = i % 3 == 0 ? std::floor(any(random)) + 0.5F : any(random);
    ASSERT_EQ(q8_value(x, 1), static_cast<std::int8_t>(std::roundf(x))) << x;
  }
}

TEST(Q8, TheLargestIs127) {
  std::array<float, block_size> values{};
  values[3] = -254;
  values[4] = 1;
  values[5] = 127;
  const Q8Block block = q8_of(values);
  EXPECT_EQ(block.scale.bits, 0x4000);  // 2
  EXPECT_EQ(block.values[3], -127);
  EXPECT_EQ(block.values[4], 1);  // a half, away from zero
  EXPECT_EQ(block.values[5], 64);
  EXPECT_EQ(q8_dequantised(block.values[3], block.scale), -254);
}

TEST(Q8, SpecialValues) {
  std::array<float, block_size> values{};
  Q8Block block = q8_of(values);
  EXPECT_EQ(block.scale.bits, 0);
  values[0] = 1e-40F;  // 1 / d is beyond f32
  values[1] = -1e-41F;
  block = q8_of(values);
  EXPECT_EQ(block.scale.bits, 0);
  EXPECT_EQ(block.values[0], 0);
  values[7] = -infinity;
  values[8] = 5;
  block = q8_of(values);
  EXPECT_EQ(block.scale.bits, 0x7c00);
  EXPECT_TRUE(std::all_of(block.values, block.values + block_size, [](int v) { return v == 0; }));
  values[9] = nan;
  block = q8_of(values);
  EXPECT_EQ(block.scale.bits, 0x7e00);
  EXPECT_TRUE(std::all_of(block.values, block.values + block_size, [](int v) { return v == 0; }));
  EXPECT_TRUE(std::isnan(q8_dequantised(block.values[8], block.scale)));
}

TEST(Mx, ScalesArePowersOfTwo) {
  EXPECT_EQ(mx_scale<E4M3>(magnitude_of(256.0F), BlockScale::floor), 127);
  EXPECT_EQ(mx_scale<E4M3>(magnitude_of(511.0F), BlockScale::floor), 127);
  EXPECT_EQ(mx_scale<E4M3>(magnitude_of(512.0F), BlockScale::floor), 128);
  EXPECT_EQ(mx_scale<E4M3>(magnitude_of(448.0F), BlockScale::ceil), 127);
  EXPECT_EQ(mx_scale<E4M3>(magnitude_of(449.0F), BlockScale::ceil), 128);
  EXPECT_EQ(mx_scale<E5M2>(magnitude_of(-32768.0F), BlockScale::floor), 127);
  EXPECT_EQ(mx_scale<E5M2>(magnitude_of(1.0F), BlockScale::ceil), 112);
  EXPECT_EQ(mx_scale<E4M3>(magnitude_of(0.0F), BlockScale::floor), 0);
  EXPECT_EQ(mx_scale<E4M3>(magnitude_of(1e-40F), BlockScale::ceil), 0);
  EXPECT_EQ(mx_scale<E4M3>(magnitude_of(infinity), BlockScale::floor), 247);
  EXPECT_EQ(mx_scale<E4M3>(magnitude_of(nan), BlockScale::floor), 0xff);
}

TEST(Mx, ScaleAndInverseAreExact) {
  for (int code = 0; code < 255; ++code) {
    const auto e = static_cast<std::uint8_t>(code);
    ASSERT_EQ(e8m0(e), std::ldexp(1.0F, code - 127)) << code;
    ASSERT_EQ(mx_inverse(e), std::ldexp(1.0F, 127 - code)) << code;
  }
  EXPECT_TRUE(std::isnan(e8m0(0xff)));
}

TEST(Mx, Values) {
  EXPECT_EQ(mx_value<E4M3>(500.0F, mx_inverse(127)).bits, 0x7e);  // saturates
  EXPECT_EQ(mx_value<E4M3>(-infinity, mx_inverse(247)).bits, 0xfe);
  EXPECT_EQ(mx_value<E4M3>(1.0F, mx_inverse(0xff)).bits, 0x7f);
  EXPECT_EQ(mx_value<E5M2>(-nan, mx_inverse(0xff)).bits, 0x7e);
  EXPECT_EQ(mx_value<E4M3>(0x1p-127F, mx_inverse(0)).bits, 0x38);
  EXPECT_EQ(mx_dequantised(E4M3{0x38}, 130), 8);
  EXPECT_EQ(mx_dequantised(E5M2{0x3c}, 0), 0x1p-127F);
}

}  // namespace
}  // namespace cornerturn::values
