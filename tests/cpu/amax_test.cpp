// The largest magnitude, on every vector target, against one obvious loop.
#include "cpu/amax.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "cpu/targets.hpp"
#include "support/conversions.hpp"
#include "support/strided_view.hpp"

namespace cornerturn::cpu {
namespace {

using test::number_at;

double reference(Kind kind, const std::byte* data, const Extents& shape, const Extents& strides,
                 std::size_t axis = 0) {
  if (axis == shape.size()) return std::abs(number_at(kind, data));
  double most = 0;
  for (std::int64_t i = 0; i < shape[axis]; ++i) {
    const double found = reference(kind, data + i * strides[axis], shape, strides, axis + 1);
    if (std::isnan(found)) return found;
    most = std::max(most, found);
  }
  return most;
}

TEST(Amax, OfEveryTypeOnEveryTarget) {
  std::mt19937 random(31);
  for (const std::string& target : targets()) {
    use_target(target);
    for (const Kind kind : test::kinds()) {
      if (kind == Kind::c64 || kind == Kind::c128) continue;
      const ElementType type(kind);
      for (int i = 0; i < 12; ++i) {
        test::StridedView view(random, type.size(), i % 3);
        view.fill(kind, random, i % 6 == 0);
        const std::byte* data = view.data();
        const double expected = reference(kind, data, view.shape, view.strides);
        const double found = amax(data, type, view.shape, view.strides, 1 + i % 3);
        if (std::isnan(expected)) {
          ASSERT_TRUE(std::isnan(found)) << target << " " << type.name();
        } else {
          ASSERT_EQ(found, expected) << target << " " << type.name();
        }
      }
    }
  }
  use_target("");
}

// Pieces, and their ends: the one large value stands anywhere.
TEST(Amax, FindsOneValueAmongMany) {
  std::mt19937 random(32);
  std::vector<float> x(700'001, 1.0F);
  for (int i = 0; i < 60; ++i) {
    const std::size_t at = i == 0 ? 0 : i == 1 ? x.size() - 1 : random() % x.size();
    x[at] = -3;
    const auto* data = reinterpret_cast<const std::byte*>(x.data());
    const ElementType f32(Kind::f32);
    EXPECT_EQ(amax(data, f32, {700'001}, {4}, 1 + i % 2), 3) << at;
    const bool counted = at % 7 == 2 && at < 700'000;
    EXPECT_EQ(amax(data + 8, f32, {100'000}, {28}, 2), counted ? 3 : 1) << at;
    x[at] = 1;
  }
}

TEST(Amax, InfinitiesAreLessThanNaNs) {
  float x[] = {1, -std::numeric_limits<float>::infinity(), 2, 3};
  const auto* data = reinterpret_cast<const std::byte*>(x);
  EXPECT_EQ(amax(data, ElementType(Kind::f32), {4}, {4}, 1),
            std::numeric_limits<double>::infinity());
  x[3] = -std::numeric_limits<float>::quiet_NaN();
  EXPECT_TRUE(std::isnan(amax(data, ElementType(Kind::f32), {4}, {4}, 1)));
}

}  // namespace
}  // namespace cornerturn::cpu
