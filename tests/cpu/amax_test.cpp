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

namespace cornerturn::cpu {
namespace {

using Bytes = std::vector<std::byte>;

double number_at(Kind kind, const std::byte* from) {
  return values::with_kind(kind, [&](auto type) {
    using T = typename decltype(type)::type;
    if constexpr (values::is_complex<T>) {
      return 0.0;
    } else {
      T value;
      std::memcpy(&value, from, sizeof value);
      return values::convert<double>(value, Overflow::standard);
    }
  });
}

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

// A window of a permuted array with steps, mirrored and repeated axes, that begins anywhere.
struct RandomView {
  Bytes memory;
  std::int64_t first = 0;
  Extents shape;
  Extents strides;

  RandomView(std::mt19937& random, std::int64_t size) {
    const auto draw = [&](std::int64_t from, std::int64_t to) {
      return std::uniform_int_distribution<std::int64_t>(from, to)(random);
    };
    const std::int64_t rank = draw(0, 4);
    std::int64_t stride = size;
    std::int64_t low = 0;
    for (std::int64_t i = 0; i < rank; ++i) {
      const std::int64_t extent = draw(0, 40) == 0 ? 0 : draw(1, i == 0 ? 200 : 9);
      const std::int64_t step = draw(0, 3) == 0 ? draw(0, 3) : 1;
      const bool mirrored = draw(0, 3) == 0;
      shape.push_back(extent);
      strides.push_back(mirrored ? -stride * step : stride * step);
      if (mirrored) low += stride * step * std::max<std::int64_t>(extent - 1, 0);
      stride *= std::max<std::int64_t>(1, extent * step + draw(0, 1));
    }
    std::vector<std::size_t> order(shape.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::shuffle(order.begin(), order.end(), random);
    const Extents old_shape = shape, old_strides = strides;
    for (std::size_t i = 0; i < order.size(); ++i) {
      shape[i] = old_shape[order[i]];
      strides[i] = old_strides[order[i]];
    }
    first = low + draw(0, 3);
    memory.resize(static_cast<std::size_t>(first + stride + size));
  }
};

TEST(Amax, OfEveryTypeOnEveryTarget) {
  std::mt19937 random(31);
  for (const std::string& target : targets()) {
    use_target(target);
    for (const Kind kind : test::kinds()) {
      if (kind == Kind::c64 || kind == Kind::c128) continue;
      const ElementType type(kind);
      for (int i = 0; i < 12; ++i) {
        RandomView view(random, type.size());
        const bool with_nans = i % 6 == 0;
        // Any bits, but for NaNs, in whatever lies at multiples of an element.
        for (std::int64_t at = view.first % type.size();
             at + type.size() <= static_cast<std::int64_t>(view.memory.size()); at += type.size()) {
          do {
            for (int b = 0; b < type.size(); ++b) {
              view.memory[static_cast<std::size_t>(at + b)] = static_cast<std::byte>(random());
            }
          } while (!with_nans && std::isnan(number_at(kind, view.memory.data() + at)));
        }
        const std::byte* data = view.memory.data() + view.first;
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
