// The largest magnitude, on every vector target, against one obvious loop.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "cpu/cpu_info.hpp"
#include "cpu/engine.hpp"
#include "cpu/targets.hpp"
#include "plan/cpu/amax.hpp"
#include "plan/planner.hpp"
#include "support/conversions.hpp"
#include "support/strided_view.hpp"
#include "values/magnitude.hpp"

namespace cornerturn::cpu {
namespace {

using test::number_at;

double reference(ElementType type, const std::byte* data, const Extents& shape,
                 const Extents& strides, std::size_t axis = 0) {
  if (axis == shape.size()) {
    std::byte element[16];
    std::memcpy(element, data, static_cast<std::size_t>(type.size()));
    test::turn_bytes(type, element);
    return std::abs(number_at(type.kind(), element));
  }
  double most = 0;
  for (std::int64_t i = 0; i < shape[axis]; ++i) {
    const double found = reference(type, data + i * strides[axis], shape, strides, axis + 1);
    if (std::isnan(found)) return found;
    most = std::max(most, found);
  }
  return most;
}

double largest(const plan::Plan& plan, const std::byte* data) {
  std::uint64_t magnitude = 0;
  execute(plan, Buffers{&magnitude, data});
  return values::magnitude_number(plan.problem.src_type.kind(), magnitude);
}

// As planned, on so many threads also where the array is small.
double amax(const std::byte* data, ElementType type, const Extents& shape, const Extents& strides,
            int threads) {
  plan::Plan plan = make_plan(reduce_problem(type, shape, strides), cpu_info(), {threads, ""});
  plan.threads = threads;
  return largest(plan, data);
}

TEST(Amax, OfEveryTypeOnEveryTarget) {
  std::mt19937 random(31);
  for (const std::string& target : targets()) {
    use_target(target);
    for (const Kind kind : test::kinds()) {
      if (kind == Kind::c64 || kind == Kind::c128) continue;
      for (int i = 0; i < 18; ++i) {
        const ElementType type = i < 12 ? ElementType(kind) : ElementType(kind).swapped();
        test::StridedView view(random, type.size(), i % 3);
        view.fill(type, random, i % 6 == 0);
        const std::byte* data = view.data();
        const double expected = reference(type, data, view.shape, view.strides);
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

// Small pieces of any form, which no array is a multiple of.
TEST(Amax, PiecesOfAnyForm) {
  std::mt19937 random(33);
  for (int i = 0; i < 400; ++i) {
    test::StridedView view(random, 2);
    view.fill(ElementType(Kind::i16), random, false);
    plan::Plan plan =
        make_plan(reduce_problem(ElementType(Kind::i16), view.shape, view.strides), cpu_info(), {});
    plan.chosen.config = plan::AmaxConfig{1 + i % 7, 1 + i % 5};
    plan.threads = 1 + i % 3;
    ASSERT_EQ(largest(plan, view.data()),
              reference(ElementType(Kind::i16), view.data(), view.shape, view.strides))
        << to_string(plan.normal) << " " << to_string(plan);
  }
}

// What the destination holds already takes part: whoever calls sets it to 0.
TEST(Amax, TheDestinationIsRaised) {
  const float x[] = {1, -2};
  const plan::Plan plan =
      make_plan(reduce_problem(ElementType(Kind::f32), {2}, {4}), cpu_info(), {});
  std::uint64_t magnitude = values::magnitude_bits(3.0F);
  execute(plan, Buffers{&magnitude, x});
  EXPECT_EQ(magnitude, values::magnitude_bits(3.0F));
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
