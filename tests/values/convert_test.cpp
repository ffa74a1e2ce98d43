// Single values: ties, denormals, NaNs, infinities, saturation, wrapping. Whole tables are compared
// with NumPy and ml_dtypes in tests/python/test_conversions.py.
#include "values/convert.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "values/special_values.hpp"

namespace cornerturn::values {
namespace {

constexpr Overflow standard = Overflow::standard;
constexpr Overflow saturate = Overflow::saturate;

template <class D, class S>
auto code(S value, Overflow overflow = standard) {
  return convert<D>(value, overflow).bits;
}

// Known at compile time: a conversion is a constant expression.
static_assert(convert<F16>(1.0F, standard).bits == 0x3c00);
static_assert(convert<BF16>(1.0, standard).bits == 0x3f80);
static_assert(convert<std::int8_t>(300, standard) == 44);

TEST(Convert, TiesGoToTheEvenNeighbour) {
  EXPECT_EQ(code<F16>(1.0F + 0x1p-11F), 0x3c00);
  EXPECT_EQ(code<F16>(1.0F + 3 * 0x1p-11F), 0x3c02);
  EXPECT_EQ(code<F16>(std::nextafter(1.0F + 0x1p-11F, 2.0F)), 0x3c01);
  EXPECT_EQ(code<BF16>(1.0F + 0x1p-8F), 0x3f80);
  EXPECT_EQ(code<BF16>(1.0F + 3 * 0x1p-8F), 0x3f82);
  EXPECT_EQ(code<E4M3>(1.0F + 0x1p-4F), 0x38);
  EXPECT_EQ(code<E4M3>(1.0F + 3 * 0x1p-4F), 0x3a);
  EXPECT_EQ(code<E5M2>(-1.125F), 0xbc);
  EXPECT_EQ(code<E5M2>(-1.375F), 0xbe);
}

TEST(Convert, NothingIsRoundedTwice) {
  // In f32 first, each of these would become the tie, and then its even neighbour below.
  EXPECT_EQ(code<F16>(1.0 + 0x1p-11 + 0x1p-40), 0x3c01);
  EXPECT_EQ(code<BF16>(1.0 + 0x1p-8 + 0x1p-40), 0x3f81);
  EXPECT_EQ(code<BF16>((std::int64_t{1} << 60) + (std::int64_t{1} << 52) + 1), 0x5d81);
  EXPECT_EQ(code<BF16>(-(std::int64_t{1} << 60) - (std::int64_t{1} << 52) - 1), 0xdd81);
  EXPECT_EQ(code<BF16>((std::uint64_t{1} << 63) + (std::uint64_t{1} << 55) + 1), 0x5f01);
  EXPECT_EQ(code<BF16>((std::int32_t{1} << 30) + (1 << 22) + 1), 0x4e81);
  EXPECT_EQ(code<E4M3>(1.0 + 0x1p-4 + 0x1p-50), 0x39);
}

TEST(Convert, DenormalsOnBothSides) {
  EXPECT_EQ(code<F16>(0x1p-24F), 0x0001);
  EXPECT_EQ(code<F16>(0x1p-25F), 0x0000);  // a tie
  EXPECT_EQ(code<F16>(std::nextafter(0x1p-25F, 1.0F)), 0x0001);
  EXPECT_EQ(code<F16>(-0x1p-30F), 0x8000);
  EXPECT_EQ(code<F16>(0x1p-14F - 0x1p-25F), 0x0400);  // up into the normal ones
  EXPECT_EQ(code<BF16>(0x1p-133F), 0x0001);
  EXPECT_EQ(code<BF16>(std::numeric_limits<float>::denorm_min()), 0x0000);
  EXPECT_EQ(code<E4M3>(0x1p-9F), 0x01);
  EXPECT_EQ(code<E5M2>(3 * 0x1p-17F), 0x02);
  EXPECT_EQ(widen(F16{0x0001}), 0x1p-24F);
  EXPECT_EQ(widen(F16{0x83ff}), -1023 * 0x1p-24F);
  EXPECT_EQ(widen(BF16{0x0001}), 0x1p-133F);
  EXPECT_EQ(widen(E4M3{0x07}), 7 * 0x1p-9F);
  EXPECT_EQ(widen(E5M2{0x01}), 0x1p-16F);
  EXPECT_EQ(convert<float>(0x1p-149 * 1.25, standard), 0x1p-149F);
}

TEST(Convert, BeyondTheRange) {
  EXPECT_EQ(code<F16>(65519.996F), 0x7bff);
  EXPECT_EQ(code<F16>(65520.0F), 0x7c00);
  EXPECT_EQ(code<F16>(65520.0F, saturate), 0x7bff);
  EXPECT_EQ(code<F16>(-infinity, saturate), 0xfbff);
  EXPECT_EQ(code<BF16>(std::numeric_limits<float>::max()), 0x7f80);
  EXPECT_EQ(code<BF16>(1e300, saturate), 0x7f7f);
  EXPECT_EQ(code<E4M3>(464.0F), 0x7e);  // a tie between 448 and what would be 480
  EXPECT_EQ(code<E4M3>(464.1F), 0x7f);
  EXPECT_EQ(code<E4M3>(500.0F), 0x7f);
  EXPECT_EQ(code<E4M3>(-infinity), 0xff);
  EXPECT_EQ(code<E4M3>(-1e30F, saturate), 0xfe);
  EXPECT_EQ(code<E5M2>(61440.0F), 0x7c);
  EXPECT_EQ(code<E5M2>(1e9F, saturate), 0x7b);
  EXPECT_EQ(convert<float>(1e300, standard), infinity);
  EXPECT_EQ(convert<float>(-1e300, saturate), -std::numeric_limits<float>::max());
  EXPECT_EQ(convert<double>(infinity, standard), std::numeric_limits<double>::infinity());
  EXPECT_EQ(code<F16>(std::int32_t{70000}), 0x7c00);
  EXPECT_EQ(code<F16>(std::int64_t{-70000}, saturate), 0xfbff);
}

TEST(Convert, NaNs) {
  for (const Overflow overflow : {standard, saturate}) {
    EXPECT_EQ(code<F16>(bits_as<float>(0x7f800001U), overflow), 0x7c01);
    EXPECT_EQ(code<F16>(bits_as<float>(0xffc12345U), overflow), 0xfe09);
    EXPECT_EQ(code<BF16>(bits_as<float>(0xffc12345U), overflow), 0xffc0);
    EXPECT_EQ(code<E4M3>(-nan, overflow), 0xff);
    EXPECT_EQ(code<E5M2>(nan, overflow), 0x7e);
    EXPECT_EQ(code<F16>(bits_as<double>(std::uint64_t{0x7ff4000000000000}), overflow), 0x7d00);
    EXPECT_EQ(convert<std::int32_t>(nan, overflow), 0);
    EXPECT_EQ(convert<std::uint64_t>(nan, overflow), 0U);
    EXPECT_EQ(convert<Boolean>(nan, overflow).bits, 1);
    EXPECT_EQ(bits_as<std::uint32_t>(convert<float>(F16{0xfc01}, overflow)), 0xff802000U);
    const auto negative = bits_as<double>(std::uint64_t{0xfff4000020000000});
    EXPECT_EQ(bits_as<std::uint32_t>(convert<float>(negative, overflow)), 0xffe00001U);
    EXPECT_EQ(bits_as<std::uint32_t>(convert<float>(-negative, overflow)), 0x7fe00001U);
    EXPECT_EQ(bits_as<std::uint32_t>(convert<float>(E4M3{0xff}, overflow)), 0xffc00000U);
  }
}

// All codes become what the bits of the wider format say.
TEST(Convert, SmallFloatsBecomeWider) {
  for (std::uint32_t bits = 0; bits < 0x10000U; ++bits) {
    const auto small = static_cast<std::uint16_t>(bits);
    ASSERT_EQ(bits_as<std::uint32_t>(widen(BF16{small})), bits << 16);
    const std::uint64_t sign = bits >> 15, exponent = bits >> 10 & 31, fraction = bits & 1023;
    const std::uint64_t wide = bits_as<std::uint64_t>(f64_of(F16{small}));
    ASSERT_EQ(wide >> 63, sign);
    if (exponent == 31) {
      ASSERT_EQ(wide << 1 >> 1, std::uint64_t{0x7ff} << 52 | fraction << 42);
    } else {
      const int least = std::max(static_cast<int>(exponent), 1) - 25;
      const double value =
          std::ldexp(static_cast<double>(fraction + (exponent > 0 ? 1024 : 0)), least);
      ASSERT_EQ(std::abs(bits_as<double>(wide)), value);
    }
  }
}

TEST(Convert, TheTieBeyondTheLargestFloat) {
  const double largest = std::numeric_limits<float>::max();
  const double tie = largest + 0x1p103;
  for (const double sign : {1.0, -1.0}) {
    EXPECT_EQ(convert<float>(sign * tie, standard), sign * infinity);
    EXPECT_EQ(convert<float>(sign * tie, saturate), sign * largest);
    EXPECT_EQ(convert<float>(sign * std::nextafter(tie, 0.0), standard), sign * largest);
    EXPECT_EQ(convert<float>(sign * std::nextafter(tie, 0.0), saturate), sign * largest);
  }
}

TEST(Convert, ToIntegers) {
  EXPECT_EQ(convert<std::int8_t>(-1.9F, standard), -1);
  EXPECT_EQ(convert<std::int8_t>(300.7F, standard), 44);
  EXPECT_EQ(convert<std::int8_t>(300.7F, saturate), 127);
  EXPECT_EQ(convert<std::int8_t>(-infinity, saturate), -128);
  EXPECT_EQ(convert<std::uint8_t>(-1.0F, standard), 255);
  EXPECT_EQ(convert<std::uint8_t>(-1.0F, saturate), 0);
  EXPECT_EQ(convert<std::int32_t>(3e9, standard), -1294967296);
  EXPECT_EQ(convert<std::int32_t>(3e9F, saturate), 2147483647);
  EXPECT_EQ(convert<std::int64_t>(9.3e18, standard), std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(convert<std::int64_t>(infinity, saturate), std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(convert<std::uint64_t>(1.5e19, standard), 15000000000000000000U);
  EXPECT_EQ(convert<std::uint64_t>(2e19, saturate), std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(convert<std::int16_t>(std::int64_t{70000}, standard), 4464);
  EXPECT_EQ(convert<std::int16_t>(std::int64_t{70000}, saturate), 32767);
  EXPECT_EQ(convert<std::uint32_t>(std::int8_t{-1}, standard), 4294967295U);
  EXPECT_EQ(convert<std::uint32_t>(std::int8_t{-1}, saturate), 0U);
  EXPECT_EQ(convert<std::int8_t>(std::uint64_t{1} << 63, saturate), 127);
  EXPECT_EQ(convert<Boolean>(0.25F, standard).bits, 1);
  EXPECT_EQ(convert<Boolean>(F16{0x8000}, standard).bits, 0);
  EXPECT_EQ(convert<float>(Boolean{7}, standard), 1.0F);
}

// Every 16-bit and 8-bit float comes back from every wider one.
template <class T>
void survives() {
  for (std::uint32_t bits = 0; bits < 2 * FormatOf<T>::sign; ++bits) {
    const T value{static_cast<decltype(T::bits)>(bits)};
    const float wide = widen(value);
    if (is_nan(wide)) continue;
    ASSERT_EQ(convert<T>(wide, standard), value) << bits;
    ASSERT_EQ(convert<T>(convert<double>(value, standard), standard), value) << bits;
    if (std::isinf(wide)) continue;
    ASSERT_EQ(convert<T>(wide, saturate), value) << bits;
    ASSERT_EQ(narrow_stochastic<T>(wide, 0xffffffffU, standard), value) << bits;
  }
}
TEST(Convert, WhatFitsIsExact) {
  survives<F16>();
  survives<BF16>();
  survives<E4M3>();
  survives<E5M2>();
}

// The nearest of all values of T, by search.
template <class T>
T nearest(double value) {
  T best{};
  double distance = std::numeric_limits<double>::infinity();
  for (std::uint32_t bits = 0; bits <= FormatOf<T>::largest; ++bits) {
    const T candidate{static_cast<decltype(T::bits)>(bits)};
    const double off = std::abs(static_cast<double>(widen(candidate)) - std::abs(value));
    if (off < distance || (off == distance && bits % 2 == 0)) best = candidate;
    distance = std::min(distance, off);
  }
  return T{static_cast<decltype(T::bits)>(best.bits | (value < 0 ? FormatOf<T>::sign : 0))};
}
TEST(Convert, TheNearestOfAllEightBitValues) {
  std::mt19937_64 random(3);
  std::uniform_real_distribution<double> exponent(-18, 9);
  for (int i = 0; i < 20'000; ++i) {
    const double value = (i % 2 == 0 ? 1 : -1) * std::exp2(exponent(random));
    const auto single = static_cast<float>(value);
    if (std::abs(value) < 440) {
      ASSERT_EQ(convert<E4M3>(value, standard), nearest<E4M3>(value)) << value;
      ASSERT_EQ(convert<E4M3>(single, standard), nearest<E4M3>(single)) << value;
    }
    ASSERT_EQ(convert<E5M2>(value, standard), nearest<E5M2>(value)) << value;
    ASSERT_EQ(convert<E5M2>(single, saturate), nearest<E5M2>(single)) << value;
  }
}

}  // namespace
}  // namespace cornerturn::values
