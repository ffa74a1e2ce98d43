// The search for better costs.
#include "planning/fit.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

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

// Two candidates that take 3 n and 2 n + 4 seconds in truth; costs begin at other numbers.
TEST(Fit, FollowsDerivatives) {
  std::vector<FitCase> cases;
  for (int n = 1; n <= 20; ++n) {
    const double first = 3.0 * n, second = 2.0 * n + 4;
    cases.push_back({{first, second}, std::min(first, second)});
  }
  const auto estimates = [&](const std::vector<double>& costs) {
    LogEstimates logs;
    for (int n = 1; n <= 20; ++n) {
      logs.push_back({std::log(costs[0] * n), std::log(costs[1] * n + costs[2])});
    }
    return logs;
  };
  const auto costs =
      fitted_along_derivatives({{4.5, 100}, {1.5, 100}, {6, 100}}, cases, estimates, 20);
  EXPECT_NEAR(costs[0], 3, 0.05);
  EXPECT_NEAR(costs[1], 2, 0.1);
  EXPECT_NEAR(costs[2], 4, 0.4);
  const auto bounded =
      fitted_along_derivatives({{2, 2.5}, {1.5, 100}, {6, 100}}, cases, estimates, 20);
  EXPECT_NEAR(bounded[0], 2.5, 0.05) << "a cost stays below what it can be";
  EXPECT_LE(bounded[0], 2.5);
  EXPECT_EQ(fitted_along_derivatives(
                {{4.5, 4}}, {cases[0]},
                [](const std::vector<double>& c) {
                  return LogEstimates{{std::log(c[0]), 2.0}};
                },
                0)[0],
            4)
      << "what is too large comes back";
}

}  // namespace
}  // namespace cornerturn::bench
