// The race at the start of large jobs: what it solves, and what it leaves to the model.
#include <gtest/gtest.h>

#include <cstring>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>
#include <vector>

#include "cornerturn/cornerturn.hpp"

namespace cornerturn {
namespace {

const ElementType floats(Kind::f32);

std::vector<float> race_numbers(std::int64_t count) {
  std::vector<float> all(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<float>(i % 8191);
  return all;
}

std::int64_t product(const Extents& shape) {
  return std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
}

// A race needs some work for each thread.
const Options two_threads{.threads = 2};

bool was_raced(const View& dst, const ConstView& src, const Options& options = two_threads) {
  return make_plan(dst, src, options).to_json().find("\"choice\": \"raced\"") != std::string::npos;
}

// So many kernels are expected to take less than four times as long as the best: those that race.
std::size_t kernels_in_sight(const View& dst, const ConstView& src) {
  const auto plan = nlohmann::json::parse(make_plan(dst, src, two_threads).to_json());
  std::set<std::string> kernels;
  for (const auto& candidate : plan.at("candidates")) {
    if (candidate.at("predicted_ns") <= 4 * plan.at("predicted_ns").get<double>()) {
      kernels.insert(candidate.at("kernel"));
    }
  }
  forget_plans();
  return kernels.size();
}

struct RaceCase {
  const char* name;
  Extents shape;  // of the source, packed
  std::vector<int> order;
};

class Race : public testing::TestWithParam<RaceCase> {};

// Every element arrives: those of the slices, those between levels of cuts, and the rest.
TEST_P(Race, SolvesTheProblem) {
  forget_plans();
  const std::vector<float> src = race_numbers(product(GetParam().shape));
  std::vector<float> raced(src.size(), -1.0F), expected(src.size(), -2.0F);
  const ConstView from = ConstView(src.data(), floats, GetParam().shape).permuted(GetParam().order);
  const View to(raced.data(), floats, from.shape);
  copy(View(expected.data(), floats, from.shape), from, {.kernel = "gather"});
  const bool worth_it = kernels_in_sight(to, from) > 1;
  copy(to, from, two_threads);
  EXPECT_EQ(std::memcmp(raced.data(), expected.data(), src.size() * sizeof(float)), 0);
  // Of a kernel that takes the whole but no slice nothing is known, so that none wins.
  const bool was = was_raced(to, from);
  EXPECT_TRUE(worth_it || !was);
  const bool told =
      make_plan(to, from, two_threads).explain().find("times the winner's time, in the first") !=
      std::string::npos;
  EXPECT_EQ(told, was);
  std::fill(raced.begin(), raced.end(), -1.0F);
  copy(to, from, two_threads);  // by the winner
  EXPECT_EQ(std::memcmp(raced.data(), expected.data(), src.size() * sizeof(float)), 0);
}

INSTANTIATE_TEST_SUITE_P(All, Race,
                         testing::Values(RaceCase{"matrix", {2100, 2300}, {1, 0}},
                                         RaceCase{"batch", {300, 128, 130}, {0, 2, 1}},
                                         RaceCase{"middling", {25, 31, 17, 9, 37}, {0, 4, 2, 1, 3}},
                                         RaceCase{"many_short",
                                                  {4, 6, 5, 8, 7, 6, 9, 5, 3, 4},
                                                  {9, 1, 7, 3, 5, 8, 0, 2, 6, 4}}),
                         [](const auto& tested) { return std::string(tested.param.name); });

TEST(RaceOrNot, EstimatesAreLeftAloneAndSmallJobsToo) {
  forget_plans();
  const std::vector<float> src = race_numbers(2100 * 2300);
  std::vector<float> dst(src.size());
  const ConstView large = ConstView(src.data(), floats, {2100, 2300}).permuted({1, 0});
  copy(View(dst.data(), floats, large.shape), large, {.threads = 2, .effort = Effort::estimate});
  EXPECT_FALSE(was_raced(View(dst.data(), floats, large.shape), large));
  copy(View(dst.data(), floats, large.shape), large, {.threads = 2, .kernel = "tile"});
  EXPECT_FALSE(
      was_raced(View(dst.data(), floats, large.shape), large, {.threads = 2, .kernel = "tile"}));
  const ConstView small = ConstView(src.data(), floats, {1000, 1000}).permuted({1, 0});
  copy(View(dst.data(), floats, small.shape), small, two_threads);
  EXPECT_FALSE(was_raced(View(dst.data(), floats, small.shape), small));
}

// Each element of the destination is read once and written once.
TEST(RaceOrNot, AddsToTheDestinationOnce) {
  forget_plans();
  const std::vector<float> src = race_numbers(2300 * 2300);
  std::vector<float> dst(src.size(), 1.0F);
  const ConstView from = ConstView(src.data(), floats, {2300, 2300}).permuted({1, 0});
  Epilogue epilogue;
  epilogue.alpha = 2;
  epilogue.beta = 1;
  copy(View(dst.data(), floats, from.shape), from, epilogue, two_threads);
  for (std::size_t i = 0; i < 2300; ++i) {
    for (std::size_t j = 0; j < 2300; ++j) {
      ASSERT_EQ(dst[j * 2300 + i], 2 * src[i * 2300 + j] + 1) << i << ", " << j;
    }
  }
}

}  // namespace
}  // namespace cornerturn
