#include "plan/winners.hpp"

#include <gtest/gtest.h>

#include "cornerturn/error.hpp"
#include "plan/gpu/device_files.hpp"
#include "plan/planner.hpp"
#include "support/random_problem.hpp"

namespace cornerturn::plan {
namespace {

TEST(Winners, AreRememberedThroughTheirText) {
  CpuInfo cpu;
  cpu.model = "Test CPU";
  cpu.isa = "AVX9";
  test::RandomProblems random(21);
  Winners winners;
  std::vector<Plan> plans;
  for (int i = 0; i < 100; ++i) {
    Plan plan = make_plan(random.next(), cpu, {1, ""});
    plan.chosen = plan.candidates.back();  // any other than the estimate
    winners.remember(plan);
    plans.push_back(plan);
  }
  Winners read;
  read.parse(winners.to_text(), "test");
  EXPECT_EQ(read.to_text(), winners.to_text());
  for (const Plan& plan : plans) {
    Plan again = make_plan(plan.problem, cpu, {1, ""});
    read.apply(again);
    EXPECT_EQ(again.choice, Choice::remembered);
    CpuInfo other = cpu;
    other.model = "Other CPU";
    Plan elsewhere = make_plan(plan.problem, other, {1, ""});
    read.apply(elsewhere);
    EXPECT_EQ(elsewhere.choice, Choice::estimated);
  }
}

TEST(Winners, OfAGpuDependOnItsNameAndTheAlignment) {
  gpu::DeviceInfo device = gpu::device_named("h200");
  test::RandomProblems random(22);
  Winners winners;
  std::vector<Plan> plans;
  for (int i = 0; i < 50; ++i) {
    Plan plan = make_plan(random.next(), device, {1, "", {true, 8, 4}});
    plan.choose(Candidate(plan.candidates.back()), Choice::measured);
    winners.remember(plan);
    plans.push_back(plan);
  }
  Winners read;
  read.parse(winners.to_text(), "test");
  EXPECT_EQ(read.to_text(), winners.to_text());
  EXPECT_NE(winners.to_text().find("NVIDIA H200 sm_90\t8:4\t"), std::string::npos);
  for (const Plan& plan : plans) {
    const auto made = [&](const Alignment& alignment) {
      Plan again = make_plan(plan.problem, device, {1, "", alignment});
      read.apply(again);
      return again;
    };
    device.name = "NVIDIA H200";
    const Plan again = made(plan.alignment);
    EXPECT_EQ(again.choice, Choice::remembered);
    EXPECT_EQ(again.chosen, plan.chosen);
    EXPECT_EQ(made({true, 8, 2}).choice, Choice::estimated);
    device.name = "Another GPU";
    EXPECT_EQ(made(plan.alignment).choice, Choice::estimated);
  }
}

TEST(Winners, MalformedFilesAreRefusedWhole) {
  Winners winners;
  const auto message = [&winners](const std::string& text) -> std::string {
    try {
      winners.parse(text, "w.txt");
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_NE(message("hello\n").find("'w.txt' line 1: 'hello' is not"), std::string::npos);
  EXPECT_NE(message("# cornerturn winners 1\na\t1\tp\tk\tc\nb\tc\n").find("line 3: five fields"),
            std::string::npos);
  EXPECT_TRUE(winners.empty());
  EXPECT_EQ(message("# cornerturn winners 1\n\n# a remark\na\t1\tp\tk\tc\n"), "");
  EXPECT_FALSE(winners.empty());
}

}  // namespace
}  // namespace cornerturn::plan
