// Plans for each processor that is described: every shape has one that explains itself, and that
// does what it says here as well.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "plan/planner.hpp"
#include "support/described_machines.hpp"
#include "support/run_case.hpp"
#include "support/shapes.hpp"

namespace cornerturn {
namespace {

// Its parts of each kind, and nothing that was not worked out.
void expect_explained(const plan::Plan& plan) {
  const std::string text = plan::explain(plan);
  EXPECT_NE(text.find("plan        " + std::string(plan.kernel())), std::string::npos) << text;
  EXPECT_NE(text.find("* " + std::string(plan.kernel())), std::string::npos) << text;
  EXPECT_EQ(text.find("nan"), std::string::npos) << text;
  EXPECT_EQ(text.find("inf "), std::string::npos) << text;
  EXPECT_NE(plan::to_json(plan).find("\"kernel\""), std::string::npos);
}

void expect_plan(const Problem& problem, const plan::CpuInfo& cpu) {
  const plan::Plan plan = plan::make_plan(problem, cpu, {cpu.cores, ""});
  ASSERT_FALSE(plan.candidates.empty());
  EXPECT_GE(plan.threads, 1);
  EXPECT_LE(plan.threads, cpu.cores);
  EXPECT_GE(plan.predicted_seconds(), 0);
  const auto cheapest =
      std::min_element(plan.candidates.begin(), plan.candidates.end(),
                       [](const auto& a, const auto& b) { return a.seconds() < b.seconds(); });
  EXPECT_EQ(plan.chosen.seconds(), cheapest->seconds());
  EXPECT_EQ(plan::make_quick_plan(problem, cpu, {cpu.cores, ""}).chosen, plan.chosen);
  expect_explained(plan);
}

// A conversion of each shape as well, and where it has no gaps, the same in place.
TEST(DescribedMachines, PlanEveryShapeAndSayHow) {
  for (const auto& [name, cpu] : test::described_machines()) {
    for (const test::Shape& shape : test::shapes()) {
      SCOPED_TRACE(shape.name + " on " + name);
      for (const int size : {1, 4, 12}) expect_plan(test::problem_of(shape, size), cpu);
      Problem converted = test::problem_of(shape, 4);
      converted.src_type = converted.dst_type = ElementType(Kind::f32);
      converted.values.alpha = 2;
      expect_plan(converted, cpu);
      if (shape.src_pad != 0 || shape.dst_pad != 0) continue;
      Problem within = test::problem_of(shape, 4);
      within.in_place = true;
      expect_plan(within, cpu);
    }
  }
}

TEST(DescribedMachines, RunWhatWasPlannedForThem) {
  test::CaseRunner runner(1 << 20);
  for (const auto& [name, cpu] : test::described_machines()) {
    const plan::Machine machine(cpu);
    for (const test::Shape& shape : test::shapes()) {
      for (const int size : {1, 4, 12}) {
        const Problem problem = test::problem_of(shape, size);
        if (problem.elements() * size > 12 << 10) continue;
        ASSERT_EQ(runner.run_on(machine, problem, "", std::min(cpu.cores, 4),
                                test::GuardedBuffer::Touching::back),
                  "")
            << shape.name << " on " << name;
      }
    }
  }
}

}  // namespace
}  // namespace cornerturn
