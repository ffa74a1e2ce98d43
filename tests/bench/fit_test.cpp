// The search for better costs.
#include "fit.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace cornerturn::bench {
namespace {

double away_from(double wanted, double value) {
  return std::abs(std::log(value / wanted));
}

TEST(Fit, CostsStayBelowWhatTheyCanBe) {
  const auto badness_of = [](const std::vector<double>& costs) {
    return away_from(3, costs[0]) + away_from(3, costs[1]) + away_from(0.5, costs[2]);
  };
  const auto costs = fitted({{0.9, 1}, {0.9, 100}, {0.9, 1}}, badness_of, 2000, 1);
  EXPECT_EQ(costs[0], 1);
  EXPECT_NEAR(costs[1], 3, 0.1);
  EXPECT_NEAR(costs[2], 0.5, 0.02);
}

TEST(Fit, WhatIsTooLargeComesBack) {
  const auto costs = fitted(
      {{1.04, 1}}, [](const auto&) { return 0.0; }, 10, 1);
  EXPECT_LE(costs[0], 1);
}

}  // namespace
}  // namespace cornerturn::bench
