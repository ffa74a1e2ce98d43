// Quantising with one scale for all, linked as a user links it.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "api/element_types.hpp"
#include "cornerturn/cornerturn.h"
#include "cornerturn/cornerturn.hpp"

namespace cornerturn {
namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr float nan_value = std::numeric_limits<float>::quiet_NaN();

template <class T>
std::vector<T> numbers(std::int64_t count, T size) {
  std::mt19937 random(9);
  std::normal_distribution<T> normal(0, 1);
  std::vector<T> result(static_cast<std::size_t>(count));
  for (T& x : result) x = normal(random) * size;
  return result;
}

template <class Call>
std::string refused(Status status, const Call& call) {
  try {
    call();
  } catch (const Error& error) {
    EXPECT_EQ(error.status(), status);
    return error.what();
  }
  return "";
}

TEST(Amax, OfViews) {
  const std::vector<float> x{1, -7, 3, 4, 5, -6};
  const ConstView view(x.data(), f32, {2, 3});
  EXPECT_EQ(amax(view), 7);
  EXPECT_EQ(amax(view.permuted({1, 0})), 7);
  EXPECT_EQ(amax(ConstView(x.data(), f32, {2, 2}, {12, 8})), 6);
  EXPECT_EQ(amax(ConstView(nullptr, f32, {2, 0, 3})), 0);
  EXPECT_EQ(amax(ConstView(x.data() + 1, f32, {})), 7);
}

// Whole arrays at once and transposed, against the rule, value by value.
template <class T>
void expect_rule(ElementType from, ElementType to, T size) {
  const std::int64_t rows = 130, columns = 70;
  const std::vector<T> x = numbers<T>(rows * columns, size);
  const ConstView view(x.data(), from, {rows, columns});
  const T most = static_cast<T>(to == i8 ? 127 : to == e4m3 ? 448 : 57344);
  T amax_of_x = 0;
  for (const T v : x) amax_of_x = std::max(amax_of_x, std::abs(v));
  EXPECT_EQ(amax(view), amax_of_x);
  const T factor = most / amax_of_x;

  std::vector<std::uint8_t> got(x.size());
  const double scale =
      quantise_tensor(View(got.data(), to, {columns, rows}), view.permuted({1, 0}), {.threads = 2});
  EXPECT_EQ(scale, T{1} / factor);
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t c = 0; c < columns; ++c) {
      const T scaled = x[static_cast<std::size_t>(r * columns + c)] * factor;
      std::uint8_t expected = 0;
      if (to == i8) {
        expected = static_cast<std::uint8_t>(static_cast<int>(std::nearbyint(scaled)));
      } else {
        Epilogue saturating;
        saturating.overflow = Overflow::saturate;
        copy(View(&expected, to, {}), ConstView(&scaled, from, {}), saturating);
      }
      ASSERT_EQ(got[static_cast<std::size_t>(c * rows + r)], expected) << scaled;
    }
  }
  // And back.
  std::vector<T> back(x.size());
  Epilogue by_scale;
  by_scale.alpha = scale;
  copy(View(back.data(), from, {rows, columns}).permuted({1, 0}),
       ConstView(got.data(), to, {columns, rows}), by_scale);
  for (std::size_t i = 0; i < x.size(); ++i) {
    ASSERT_NEAR(back[i], x[i], amax_of_x / (to == i8 ? 250 : 14));
  }
}

TEST(QuantiseTensor, IsTheRule) {
  for (const ElementType to : {e4m3, e5m2, i8}) {
    for (const float size : {1e-30F, 0.01F, 3.0F, 1e30F}) expect_rule<float>(f32, to, size);
    for (const double size : {1e-290, 3.0, 1e290}) expect_rule<double>(f64, to, size);
  }
}

TEST(QuantiseTensor, TheLargestMagnitudeIsTheLargestValue) {
  std::mt19937 random(4);
  for (int i = 0; i < 2000; ++i) {
    std::uint32_t bits = random() & 0x7f7fffffU;
    if (bits < 0x08000000U) continue;
    float x[2];
    std::memcpy(x, &bits, 4);
    x[1] = -x[0];
    std::int8_t whole[2];
    quantise_tensor(View(whole, i8, {2}), ConstView(x, f32, {2}));
    ASSERT_EQ(whole[0], 127) << x[0];
    ASSERT_EQ(whole[1], -127) << x[0];
    std::uint8_t code[2];
    quantise_tensor(View(code, e4m3, {2}), ConstView(x, f32, {2}));
    ASSERT_EQ(code[0], 0x7e) << x[0];
    ASSERT_EQ(code[1], 0xfe) << x[0];
  }
}

TEST(QuantiseTensor, WhatHasNoScale) {
  const auto scale_of = [](std::vector<float> x, ElementType to, std::vector<std::uint8_t> codes) {
    std::vector<std::uint8_t> got(x.size());
    const double scale =
        quantise_tensor(View(got.data(), to, {static_cast<std::int64_t>(x.size())}),
                        view(x.data(), {(std::int64_t)x.size()}));
    EXPECT_EQ(got, codes);
    return scale;
  };
  EXPECT_EQ(scale_of({0, -0.0F}, e4m3, {0, 0x80}), 1);
  EXPECT_EQ(scale_of({0, -0.0F}, i8, {0, 0}), 1);
  EXPECT_EQ(scale_of({}, e4m3, {}), 1);
  EXPECT_EQ(scale_of({1, -infinity, 1000}, e4m3, {0x38, 0xfe, 0x7e}), 1);
  EXPECT_EQ(scale_of({1, infinity, nan_value}, e5m2, {0x3c, 0x7b, 0x7e}), 1);
  EXPECT_EQ(scale_of({1, infinity, -3}, i8, {0, 0, 0}), infinity);
  EXPECT_TRUE(std::isnan(scale_of({1, infinity, nan_value}, i8, {0, 0, 0})));
  // So small that the scale is the smallest there is.
  EXPECT_EQ(scale_of({0x1p-130F, -0x1p-140F}, i8, {0, 0}), 0x1p-126);
  EXPECT_EQ(scale_of({0x1p-126F, 0}, e4m3, {0x38, 0}), 0x1p-126);
}

TEST(QuantiseTensor, IntegersAreScaledToo) {
  const std::vector<std::int64_t> x{std::int64_t{1} << 40, -(std::int64_t{1} << 39), 3};
  std::int8_t got[3];
  const double scale = quantise_tensor(View(got, i8, {3}), view(x.data(), {3}));
  EXPECT_EQ(scale, 1 / (127 / 0x1p40));
  EXPECT_EQ(got[0], 127);
  EXPECT_EQ(got[1], -64);  // a tie, to even
  EXPECT_EQ(got[2], 0);
}

TEST(QuantiseTensor, WhatIsWrongIsNamed) {
  std::vector<float> x(12, 1);
  std::vector<std::uint8_t> out(12, 0xAA);
  const ConstView view(x.data(), f32, {3, 4});
  EXPECT_EQ(refused(Status::invalid_argument,
                    [&] {
                      quantise_tensor(View(out.data(), ElementType(Kind::u8), {3, 4}), view);
                    }),
            "dst.type = u8 has to be f8_e4m3, f8_e5m2 or i8");
  EXPECT_EQ(
      refused(Status::unsupported, [&] { amax(ConstView(x.data(), ElementType(Kind::c64), {3})); }),
      "src.type = c64 has no real values: it has to be bool, i8, ... f64, f16, bf16, f8_e4m3 "
      "or f8_e5m2");
  EXPECT_EQ(refused(Status::invalid_argument, [&] { amax(ConstView(nullptr, f32, {3})); }),
            "src.data = null, but there are elements to read");
  EXPECT_EQ(
      refused(Status::invalid_argument, [&] { amax(view, {.threads = -1}); }).find("threads = -1"),
      0U);
  const auto shapes = refused(Status::invalid_argument, [&] {
    quantise_tensor(View(out.data(), e4m3, {4, 3}), view);
  });
  EXPECT_NE(shapes.find("shape"), std::string::npos) << shapes;
  const auto overlap = refused(Status::invalid_argument, [&] {
    quantise_tensor(View(x.data(), e4m3, {3, 4}), view);
  });
  EXPECT_NE(overlap.find("overlaps"), std::string::npos) << overlap;
  EXPECT_EQ(out, std::vector<std::uint8_t>(12, 0xAA));
}

TEST(QuantiseTensor, InC) {
  const float x[] = {1, -4, 2, 3};
  const int64_t shape[] = {2, 2};
  const ct_const_view src = {x, "f32", 2, shape, nullptr};
  double found = 0;
  ASSERT_EQ(ct_amax(&found, &src, 1), CT_OK);
  EXPECT_EQ(found, 4);
  EXPECT_EQ(ct_amax(nullptr, &src, 1), CT_INVALID_ARGUMENT);
  EXPECT_STREQ(ct_last_error(), "amax = NULL, but it is needed");
  std::int8_t values[4];
  const ct_view dst = {values, "i8", 2, shape, nullptr};
  ASSERT_EQ(ct_quantise_tensor(&dst, &found, &src, 0), CT_OK) << ct_last_error();
  EXPECT_EQ(found, 1.0F / (127.0F / 4.0F));
  EXPECT_EQ(values[1], -127);
  double again = 0;
  ASSERT_EQ(ct_amax_on(&again, &src, 0, nullptr), CT_OK) << ct_last_error();
  EXPECT_EQ(again, 4);
  values[1] = 0;
  ASSERT_EQ(ct_quantise_tensor_on(&dst, &again, &src, 0, nullptr), CT_OK) << ct_last_error();
  EXPECT_EQ(again, found);
  EXPECT_EQ(values[1], -127);
  const ct_view wrong = {values, "u8", 2, shape, nullptr};
  EXPECT_EQ(ct_quantise_tensor(&wrong, &found, &src, 0), CT_INVALID_ARGUMENT);
}

}  // namespace
}  // namespace cornerturn
