#include "values/epilogue.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <random>

#include "values/special_values.hpp"

namespace cornerturn::values {
namespace {

Values scaled_by(double alpha, double beta = 0) {
  Values values;
  values.alpha = alpha;
  values.beta = beta;
  return values;
}

TEST(Epilogue, WithoutArithmeticNaNsKeepTheirPayload) {
  const Conversion<F16, float> conversion(Values{}, false, false);
  EXPECT_FALSE(conversion.arithmetic);
  EXPECT_EQ(conversion(bits_as<float>(0xff802000U), 1, 0, F16{}, 0).bits, 0xfc01);
}

TEST(Epilogue, ProductsAndSumsInOrder) {
  const Conversion<float, float> conversion(scaled_by(0.1, 3), true, true);
  const float factor = 0.1F * 7.3F;
  const float product_and_bias = factor * 1.7F + 0.9F;
  EXPECT_EQ(conversion(1.7F, 7.3F, 0.9F, 1.1F, 0), product_and_bias + 3.0F * 1.1F);
}

TEST(Epilogue, WideTypesAreWorkedOnInF64) {
  static_assert(std::is_same_v<Intermediate<F16, std::int8_t>, float>);
  static_assert(std::is_same_v<Intermediate<F16, std::int32_t>, double>);
  static_assert(std::is_same_v<Intermediate<Complex<float>, float>, float>);
  static_assert(std::is_same_v<Intermediate<Complex<double>, float>, double>);
  const Conversion<std::int64_t, std::int32_t> conversion(scaled_by(1e9), false, false);
  EXPECT_EQ(conversion(2'000'000'001, 1, 0, 0, 0), 2'000'000'001'000'000'000);
}

TEST(Epilogue, ZeroBetaDoesNotReadTheDestination) {
  const Conversion<float, float> conversion(scaled_by(2), false, false);
  EXPECT_FALSE(conversion.reads_destination);
  EXPECT_EQ(conversion(3, 1, 0, nan, 0), 6);
}

TEST(Epilogue, OneNaN) {
  const Conversion<float, float> conversion(scaled_by(2), false, false);
  EXPECT_EQ(bits_as<std::uint32_t>(conversion(bits_as<float>(0xffc12345U), 1, 0, 0, 0)), f32_nan);
  const Conversion<double, double> wide(scaled_by(0), false, false);
  EXPECT_EQ(bits_as<std::uint64_t>(wide(-std::numeric_limits<double>::infinity(), 1, 0, 0, 0)),
            f64_nan);
}

TEST(Epilogue, ComplexValues) {
  Values values = scaled_by(2);
  values.conjugate = true;
  const Conversion<Complex<float>, Complex<double>> conversion(values, false, true);
  const Complex<float> result = conversion({3, 4}, 1, 10, {}, 0);
  EXPECT_EQ(result.re, 16);  // the bias is real
  EXPECT_EQ(result.im, -8);
  const Conversion<Complex<float>, std::int8_t> from_real(Values{}, false, false);
  EXPECT_EQ(from_real(-5, 1, 0, {}, 0).re, -5);
  EXPECT_EQ(from_real(-5, 1, 0, {}, 0).im, 0);
}

TEST(Stochastic, BitsAreAFunctionOfSeedAndPlace) {
  const RandomBits bits(42);
  EXPECT_EQ(bits.at(7), RandomBits(42).at(7));
  EXPECT_NE(bits.at(7), bits.at(8));
  EXPECT_NE(bits.at(7), bits.at(7 + (std::uint64_t{1} << 32)));
  EXPECT_NE(bits.at(7), RandomBits(43).at(7));
  EXPECT_NE(RandomBits(43).at(7), RandomBits(42).at(8));
  EXPECT_NE(bits.at(7), RandomBits(42 + (std::uint64_t{1} << 32)).at(7));
}

// Each bit of a place decides about half of the bits that are drawn for it.
TEST(Stochastic, EveryBitOfAPlaceCounts) {
  constexpr int trials = 2000;
  std::mt19937_64 random(3);
  std::array<std::array<int, 32>, 64> changed = {};
  for (int i = 0; i < trials; ++i) {
    const std::uint64_t place = random();
    for (std::size_t of = 0; of < 64; ++of) {
      const std::uint32_t other =
          RandomBits(9).at(place) ^ RandomBits(9).at(place ^ std::uint64_t{1} << of);
      for (std::size_t k = 0; k < 32; ++k) changed[of][k] += static_cast<int>(other >> k & 1);
    }
  }
  for (const auto& of : changed) {
    for (const int count : of) EXPECT_NEAR(count, 0.5 * trials, 0.1 * trials);
  }
}

// The function itself, so that results stay what they are from version to version.
TEST(Stochastic, BitsAreThoseOfTheFunction) {
  EXPECT_EQ(mixed(1), 0x688990c0U);
  EXPECT_EQ(mixed(0xdeadbeefU), 0xe628c683U);
}

// How often a value is rounded up is as likely as it is near.
template <class D, class S>
double share_of(S value, D upper, D lower) {
  Values values;
  values.rounding = Rounding::stochastic;
  values.seed = 5;
  const Conversion<D, S> conversion(values, false, false);
  constexpr int trials = 40'000;
  int up = 0;
  for (int i = 0; i < trials; ++i) {
    const D result = conversion(value, 1, 0, D{}, static_cast<std::uint64_t>(i));
    EXPECT_TRUE(result == upper || result == lower);
    up += result == upper;
  }
  return static_cast<double>(up) / trials;
}

TEST(Stochastic, RoundsUpAsOftenAsTheValueIsNear) {
  constexpr double tolerance = 0.01;  // four standard deviations
  EXPECT_NEAR(share_of<BF16>(1.0F + 0x1p-9F, BF16{0x3f81}, BF16{0x3f80}), 0.25, tolerance);
  EXPECT_NEAR(share_of<BF16>(-1.0F - 0x1p-9F, BF16{0xbf81}, BF16{0xbf80}), 0.25, tolerance);
  EXPECT_NEAR(share_of<F16>(0.3 * 0x1p-24, F16{1}, F16{0}), 0.3, tolerance);
  EXPECT_NEAR(share_of<F16>(2.75F * 0x1p-24F, F16{3}, F16{2}), 0.75, tolerance);
  EXPECT_NEAR(share_of<E4M3>(1.1F, E4M3{0x39}, E4M3{0x38}), 0.8, tolerance);
  EXPECT_NEAR(share_of<E5M2>(0x1p-18F, E5M2{1}, E5M2{0}), 0.25, tolerance);
  EXPECT_NEAR(share_of<float>(1.0 + 0x1p-25, 1.0F + 0x1p-23F, 1.0F), 0.25, tolerance);
  EXPECT_NEAR((share_of<std::int8_t, float>(-3.75F, -4, -3)), 0.75, tolerance);
  EXPECT_NEAR((share_of<std::uint8_t, double>(7.1, 8, 7)), 0.1, tolerance);
}

TEST(Stochastic, SpecialValuesStayWhatTheyAre) {
  Values values;
  values.rounding = Rounding::stochastic;
  const Conversion<E4M3, float> conversion(values, false, false);
  EXPECT_EQ(conversion(nan, 1, 0, E4M3{}, 1).bits, 0x7f);
  EXPECT_EQ(conversion(-0.0F, 1, 0, E4M3{}, 2).bits, 0x80);
  EXPECT_EQ(conversion(1e20F, 1, 0, E4M3{}, 3).bits, 0x7f);
  EXPECT_EQ(conversion(0x1p-149F, 1, 0, E4M3{}, 3).bits, 0x00);
  const Conversion<std::int8_t, float> integer(values, false, false);
  EXPECT_EQ(integer(1e20F, 1, 0, 0, 4), 0);
  EXPECT_EQ(integer(nan, 1, 0, 0, 5), 0);
}

}  // namespace
}  // namespace cornerturn::values
