#include "harness/statistics.hpp"

#include <gtest/gtest.h>

namespace cornerturn::bench {
namespace {

TEST(Statistics, MedianOfOddAndEvenCounts) {
  EXPECT_DOUBLE_EQ(median({3}), 3);
  EXPECT_DOUBLE_EQ(median({9, 1, 5}), 5);
  EXPECT_DOUBLE_EQ(median({9, 1, 5, 2}), 3.5);
}

TEST(Statistics, NoiseIgnoresOneOutlier) {
  EXPECT_DOUBLE_EQ(relative_mad({2}), 0);
  EXPECT_DOUBLE_EQ(relative_mad({2, 2, 2, 100}), 0);
  // Deviations from the median 10: 1, 1, 0, 2, 90; their median is 1.
  EXPECT_DOUBLE_EQ(relative_mad({9, 11, 10, 8, 100}), 0.14826);
}

TEST(Statistics, GeometricMean) {
  EXPECT_DOUBLE_EQ(geometric_mean({}), 0);
  EXPECT_NEAR(geometric_mean({1, 4, 16}), 4, 1e-12);
}

TEST(StopRule, WaitsForTheLeastNumberOfRuns) {
  const StopRule rule{.min_runs = 3, .max_runs = 10, .noise = 0.01, .budget = 1, .slow_budget = 3};
  EXPECT_FALSE(rule.enough({}, 100));
  EXPECT_FALSE(rule.enough({1, 1}, 0.1));
  EXPECT_FALSE(rule.enough({1, 1}, 2.9));
  EXPECT_TRUE(rule.enough({1, 1}, 3));
  EXPECT_TRUE(rule.enough({1, 1, 1}, 0.1));
}

TEST(StopRule, GoesOnWhileItIsNoisyAndThereIsTime) {
  const StopRule rule{.min_runs = 3, .max_runs = 6, .noise = 0.01, .budget = 1, .slow_budget = 3};
  EXPECT_FALSE(rule.enough({1, 2, 3}, 0.9));
  EXPECT_TRUE(rule.enough({1, 2, 3}, 1));
  EXPECT_TRUE(rule.enough({1, 2, 3, 1, 2, 3}, 0.5));
}

}  // namespace
}  // namespace cornerturn::bench
