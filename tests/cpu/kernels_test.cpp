// Every kernel, in every configuration that the planner offers, on every vector target that this
// machine has, against the reference: the shared shapes, then random problems.
#include <gtest/gtest.h>

#include "cpu/targets.hpp"
#include "support/random_problem.hpp"
#include "support/run_case.hpp"
#include "support/shapes.hpp"

namespace cornerturn::test {
namespace {

// How much is done, over all targets. ThreadSanitizer is slow, and has nothing to see in a problem
// on one thread.
#if defined(CORNERTURN_TSAN)
constexpr int random_problems = 2'000;
constexpr std::int64_t largest_shape_bytes = 64 << 10;
#elif defined(CORNERTURN_ASAN)
constexpr int random_problems = 20'000;
constexpr std::int64_t largest_shape_bytes = 4 << 20;
#else
constexpr int random_problems = 100'000;
constexpr std::int64_t largest_shape_bytes = 24 << 20;
#endif

class Kernels : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override { cpu::use_target(GetParam()); }
  void TearDown() override { cpu::use_target(""); }
};

INSTANTIATE_TEST_SUITE_P(Targets, Kernels, testing::ValuesIn(cpu::targets()),
                         [](const auto& target) { return target.param; });

TEST_P(Kernels, SharedShapes) {
  CaseRunner runner(64 << 20);
  for (const Shape& shape : shapes()) {
    for (const int size : {1, 2, 3, 4, 8, 12, 16, 24, 40, 256}) {
      const Problem problem = problem_of(shape, size);
      if (problem.elements() * size > largest_shape_bytes) continue;
      ASSERT_EQ(runner.run_all(problem), "") << shape.name << ", element of " << size << " B";
    }
  }
}

TEST_P(Kernels, RandomProblems) {
  CaseRunner runner;
  const auto targets = static_cast<int>(cpu::targets().size());
  cpu::use_target(GetParam());
  RandomProblems random(std::hash<std::string>()(GetParam()));
  RandomProblems larger(7 + std::hash<std::string>()(GetParam()), {6, 200 << 10, false});
  for (int i = 0; i < random_problems / targets + 1; ++i) {
    const Problem problem = i % 40 == 0 ? larger.next() : random.next();
    ASSERT_EQ(runner.run_all(problem), "") << "problem " << i;
  }
}

TEST_P(Kernels, ManyThreadsWriteTheirOwnBytesOnly) {
  CaseRunner runner;
  RandomProblems random(11, {8, 400 << 10, false});
  for (int i = 0; i < 300; ++i) {
    ASSERT_EQ(runner.run_all(random.next(), 4), "") << "problem " << i;
  }
}

}  // namespace
}  // namespace cornerturn::test
