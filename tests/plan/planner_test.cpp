#include "plan/planner.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "cornerturn/error.hpp"
#include "support/random_problem.hpp"

namespace cornerturn::plan {
namespace {

Problem matrix(int size, std::int64_t rows, std::int64_t columns) {
  Problem problem;
  problem.src_type = ElementType::bytes(size);
  problem.dst_type = problem.src_type;
  problem.modes = {{columns, size, rows * size}, {rows, columns * size, size}};
  return problem;
}

std::string message_of(const Problem& problem, const Request& request) {
  try {
    make_plan(problem, CpuInfo{}, request);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(Planner, TheCheapestCandidateIsChosen) {
  test::RandomProblems random(8);
  for (int i = 0; i < 2000; ++i) {
    const Plan plan = make_plan(random.next(), CpuInfo{}, {2, ""});
    ASSERT_FALSE(plan.candidates.empty());
    for (const Candidate& candidate : plan.candidates) {
      ASSERT_GE(candidate.cost_ns, plan.chosen.cost_ns);
      ASSERT_EQ(candidate.row->why_not(plan.normal, CpuInfo{}), nullptr);
    }
    ASSERT_GE(plan.threads, 1);
    ASSERT_LE(plan.threads, 2);
  }
}

TEST(Planner, EqualProblemsGetEqualPlans) {
  test::RandomProblems random(9);
  for (int i = 0; i < 200; ++i) {
    const Problem problem = random.next();
    EXPECT_EQ(make_plan(problem, CpuInfo{}, {1, ""}), make_plan(problem, CpuInfo{}, {1, ""}));
  }
}

TEST(Planner, EveryKernelCanBeForcedWhereItApplies) {
  test::RandomProblems random(10);
  std::set<std::string_view> forced;
  for (int i = 0; i < 500; ++i) {
    Problem problem = random.next();
    if (i % 5 == 0) {
      problem.src_type = problem.dst_type = ElementType(Kind::u8);
      problem.values.alpha = 3;
    }
    const Plan free = make_plan(problem, CpuInfo{}, {1, ""});
    for (const Row& row : registry()) {
      if (why_not(row, free.normal, CpuInfo{}) != nullptr) continue;
      const Plan plan = make_plan(problem, CpuInfo{}, {1, std::string(row.name)});
      ASSERT_EQ(plan.kernel(), row.name);
      ASSERT_EQ(plan.choice, Choice::forced);
      forced.insert(row.name);
    }
  }
  EXPECT_EQ(forced.size(), registry().size());
}

TEST(Planner, UnknownKernelsAreRefusedWithTheKnownOnes) {
  const std::string message = message_of(matrix(4, 100, 200), {1, "magic"});
  EXPECT_NE(message.find("kernel = 'magic' is unknown: use one of "), std::string::npos);
  for (const Row& row : registry()) {
    EXPECT_NE(message.find(row.name), std::string::npos) << row.name;
  }
}

TEST(Planner, ValuesAreConvertedByThoseThatSaySo) {
  Problem problem = matrix(4, 100, 200);
  problem.src_type = ElementType(Kind::f32);
  problem.dst_type = ElementType(Kind::i32);
  EXPECT_EQ(make_plan(problem, CpuInfo{}, {1, ""}).kernel(), "convert");
  EXPECT_EQ(message_of(problem, {1, "strided"}),
            "kernel = 'strided' does not take this problem: values are converted");
  EXPECT_EQ(message_of(matrix(4, 100, 200), {1, "convert"}),
            "kernel = 'convert' does not take this problem: values are not converted");
}

TEST(Planner, TilesConvertLargeProblemsThatDoNotNarrow) {
  const auto refusal = [](Problem problem, Kind from, Kind to) {
    problem.src_type = ElementType(from);
    problem.dst_type = ElementType(to);
    for (Mode& mode : problem.modes) {
      mode.src_stride = mode.src_stride / 4 * problem.src_type.size();
      mode.dst_stride = mode.dst_stride / 4 * problem.dst_type.size();
    }
    return message_of(problem, {1, "tile"});
  };
  const std::string refused = "kernel = 'tile' does not take this problem: ";
  EXPECT_EQ(refusal(matrix(4, 4096, 4096), Kind::bf16, Kind::f32), "");
  EXPECT_EQ(refusal(matrix(4, 4096, 4096), Kind::f32, Kind::bf16),
            refused + "values become narrower");
  EXPECT_EQ(refusal(matrix(4, 4096, 4096), Kind::bf16, Kind::f16), "");
  EXPECT_EQ(refusal(matrix(4, 4096, 4096), Kind::i64, Kind::f64),
            refused + "it takes no more than a change of type, from f32, to it or by way of it");
  EXPECT_EQ(refusal(matrix(4, 100, 200), Kind::bf16, Kind::f32),
            refused + "values are converted, and stay in the cache");
}

TEST(Planner, SmallProblemsStayOnOneThread) {
  EXPECT_EQ(make_plan(matrix(4, 64, 64), CpuInfo{}, {8, ""}).threads, 1);
  EXPECT_EQ(make_plan(matrix(4, 8192, 8192), CpuInfo{}, {8, ""}).threads, 8);
}

TEST(Planner, ExplainsItself) {
  const CpuInfo cpu;
  const Plan plan = make_plan(matrix(4, 3000, 5000), cpu, {2, ""});
  const std::string text = explain(plan, cpu);
  for (const Row& row : registry()) {
    EXPECT_NE(text.find(row.name), std::string::npos) << row.name;
  }
  EXPECT_NE(text.find("normalised"), std::string::npos);
  EXPECT_NE(text.find("why"), std::string::npos);
}

}  // namespace
}  // namespace cornerturn::plan
