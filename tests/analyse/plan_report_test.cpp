#include "workshop/analyse/plan_report.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "plan/gpu/device_files.hpp"
#include "plan/gpu/pack.hpp"
#include "plan/planner.hpp"
#include "support/random_problem.hpp"

namespace cornerturn {
namespace {

Problem dense(int size, std::int64_t rows, std::int64_t cols) {
  Problem problem;
  problem.src_type = problem.dst_type = ElementType::bytes(size);
  problem.modes = {{cols, size, rows * size}, {rows, cols * size, size}};
  return problem;
}

TEST(Representative, KeepsTheEdgesAndTheAlignmentOfRows) {
  const Problem normal = dense(2, 10007, 9973);
  const auto small = representative(normal);
  ASSERT_TRUE(small);
  EXPECT_LE(small->bytes(), 512 << 10);
  for (int i = 0; i < 2; ++i) {
    const Mode& mode = small->modes[i];
    EXPECT_GE(mode.extent, 256);
    EXPECT_EQ(mode.extent % 256, normal.modes[i].extent % 256);
    EXPECT_EQ((mode.src_stride - normal.modes[i].src_stride) % 128, 0);
    EXPECT_EQ((mode.dst_stride - normal.modes[i].dst_stride) % 128, 0);
  }
}

TEST(Representative, LeavesSmallProblemsAlone) {
  for (const Problem& normal : {dense(4, 100, 300), dense(1, 1, 7)}) {
    EXPECT_EQ(representative(normal), normal);
  }
}

TEST(Representative, KeepsPaddingSignsAndBroadcasts) {
  Problem normal;
  normal.src_type = normal.dst_type = ElementType::bytes(4);
  // Rows of 5000 elements padded to 20040 bytes, backwards on the source; repeated 3000 times.
  normal.modes = {{3000, 0, 20040 * 700}, {700, -20040, 20040}, {5000, 4, 4}};
  const auto small = representative(normal);
  ASSERT_TRUE(small);
  EXPECT_EQ(small->modes[0].src_stride, 0);
  EXPECT_LT(small->modes[1].src_stride, 0);
  EXPECT_EQ(-small->modes[1].src_stride, small->modes[2].extent * 4 + 40);
  EXPECT_EQ(small->modes[1].dst_stride, small->modes[2].extent * 4 + 40);
  EXPECT_EQ(small->modes[2].src_stride, 4);
}

TEST(Representative, GivesUpOnManyModes) {
  Problem normal;
  normal.src_type = normal.dst_type = ElementType::bytes(4);
  std::int64_t from = 4;
  for (int i = 0; i < 24; ++i, from *= 2) normal.modes.push_back({2, from, 4 << (23 - i)});
  EXPECT_FALSE(representative(normal));
}

// Nothing falls out of a buffer, whatever the problem; the counts are never less than what the
// bytes need.
TEST(PlanReport, OfRandomProblems) {
  const plan::gpu::DeviceInfo device = plan::gpu::device_named("h200");
  test::RandomProblems random(31);
  int reported = 0;
  for (int i = 0; i < 60; ++i) {
    const Problem problem = random.next();
    if (problem.elements() > 20'000) continue;
    const plan::Plan plan = plan::make_plan(problem, device);
    const auto report = report_of(plan, 3);
    if (!report) continue;
    ++reported;
    const auto chosen =
        std::find_if(report->candidates.begin(), report->candidates.end(),
                     [&](const CandidateAccesses& c) { return c.candidate == plan.chosen; });
    ASSERT_NE(chosen, report->candidates.end()) << to_string(plan.normal);
    EXPECT_GE(chosen->sectors_stored * 32, static_cast<double>(plan.normal.bytes()));
    EXPECT_GE(chosen->wavefronts, chosen->wavefronts_ideal);
    EXPECT_NE(report->text(plan).find(plan.kernel()), std::string::npos);
  }
  EXPECT_GT(reported, 20);
}

// The cheapest of each kernel come first; boxes that only large arrays have are counted as well.
TEST(PlanReport, OfALargeArray) {
  const Problem problem = dense(4, 4096, 4096);
  const plan::Plan plan = plan::make_plan(problem, plan::gpu::device_named("h200"));
  const auto few = report_of(plan, 3);
  ASSERT_TRUE(few);
  std::set<std::string> kernels;
  for (const CandidateAccesses& counted : few->candidates) {
    kernels.emplace(counted.candidate.row->name);
  }
  EXPECT_EQ(kernels, (std::set<std::string>{"gather", "pack", "tile"}));

  const auto all = report_of(plan, 30);
  ASSERT_TRUE(all);
  const auto uneven = [](const CandidateAccesses& counted) {
    return counted.candidate.row->name == "pack" &&
           counted.candidate.config.as<plan::gpu::PackConfig>().dst_shift != 0;
  };
  EXPECT_TRUE(std::any_of(all->candidates.begin(), all->candidates.end(), uneven));
}

}  // namespace
}  // namespace cornerturn
