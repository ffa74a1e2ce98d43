// Every kernel, in every configuration that the planner offers, on every vector target that this
// machine has, against the reference: the shared shapes, then random problems.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "cpu/cpu_info.hpp"
#include "cpu/targets.hpp"
#include "plan/planner.hpp"
#include "support/draws.hpp"
#include "support/random_problem.hpp"
#include "support/run_case.hpp"
#include "support/shapes.hpp"

namespace cornerturn::test {
namespace {

// How much is done, the random problems on each target. ThreadSanitizer is slow, and has nothing to
// see in a problem on one thread.
#if defined(CORNERTURN_TSAN)
constexpr int random_problems = 700;
constexpr std::int64_t largest_shape_bytes = 64 << 10;
#elif defined(CORNERTURN_ASAN)
constexpr int random_problems = 7'000;
constexpr std::int64_t largest_shape_bytes = 4 << 20;
#else
constexpr int random_problems = 25'000;
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

// Processors with caches of every size, so that every configuration that a plan can hold comes up.
// Each configuration of a problem is run once.
TEST_P(Kernels, EveryConfiguration) {
  std::vector<plan::Machine> machines;
  for (const std::int64_t l1 : {4 << 10, 32 << 10, 64 << 10}) {
    for (const std::int64_t l2 : {2 * l1, 16 * l1, 64 * l1}) {
      for (const std::int64_t l3 : {std::int64_t{64}, 2 * l2, 64 * l2}) {
        plan::CpuInfo cpu = cpu::cpu_info();
        cpu.l1_bytes = l1;
        cpu.l2_bytes = l2;
        cpu.l3_bytes = l3;
        cpu.caches_taken = machines.size() % 2 == 1;
        machines.emplace_back(cpu);
      }
    }
  }
  CaseRunner runner(1 << 20);
  std::map<std::string, int> runs;  // by kernel
  for (const Shape& shape : shapes()) {
    for (const int size : {1, 2, 4, 8, 12, 16}) {
      const Problem problem = problem_of(shape, size);
      if (problem.elements() * size > 48 << 10) continue;
      std::set<std::string> done;
      for (const plan::Machine& machine : machines) {
        const auto is_new = [&](const plan::Plan& plan) {
          if (!done.insert(std::string(plan.kernel()) + describe(plan.chosen, plan.normal))
                   .second) {
            return false;
          }
          ++runs[std::string(plan.kernel())];
          return true;
        };
        ASSERT_EQ(runner.run_on(machine, problem, "", 1, GuardedBuffer::Touching::back, is_new), "")
            << shape.name << ", element of " << size << " B";
      }
    }
  }
  for (const char* kernel :
       {"copy", "rows", "units", "tile", "pack_lines", "pack", "boxes", "shuffle", "gather"}) {
    EXPECT_GT(runs[kernel], 50) << kernel;
  }
}

TEST_P(Kernels, RandomProblems) {
  CaseRunner runner;
  RandomProblems random(std::hash<std::string>()(GetParam()));
  RandomProblems larger(7 + std::hash<std::string>()(GetParam()), {6, 200 << 10, false});
  for (int i = 0; i < random_problems; ++i) {
    const Problem problem = i % 40 == 0 ? larger.next() : random.next();
    ASSERT_EQ(runner.run_all(problem), "") << "problem " << i;
  }
}

// What a thread keeps from call to call was made for the vectors of that call: one plan, by every
// vector target in turn.
TEST(KernelsInTurn, KeepNothingOfOtherVectors) {
  CaseRunner runner(1 << 20);
  const plan::Machine machine(cpu::cpu_info());
  const std::vector<std::string> targets = cpu::targets();
  for (const Shape& shape : shapes()) {
    const Problem problem = problem_of(shape, 4);
    if (problem.elements() > 16 << 10) continue;
    const std::size_t candidates = plan::make_plan(problem, machine, {1, ""}).candidates.size();
    for (std::size_t i = 0; i < candidates; ++i) {
      for (const std::string& target : targets) {
        cpu::use_target(target);
        std::size_t number = 0;
        const auto is_it = [&](const plan::Plan&) { return number++ == i; };
        ASSERT_EQ(runner.run_on(machine, problem, "", 1, GuardedBuffer::Touching::back, is_it), "")
            << shape.name << " on " << target;
      }
    }
  }
  cpu::use_target("");
}

// Boxes that read the same are copied from the first of them, stretch by stretch between gaps.
TEST_P(Kernels, BoxesThatReadTheSame) {
  // Several stretches in a run, a long run, and stretches of several runs.
  const ModeList cases[] = {{{6, 0, 64 * 336}, {64, 1, 336}, {7, 64, 48}, {40, 448, 1}},
                            {{5, 0, 3001}, {3001, 146, 1}},
                            {{8, 0, 3 * 5000}, {3, 8, 5000}, {600, 24, 8}, {8, 14400, 1}},
                            {{5, 0, 200 * 40}, {200, 64, 40}, {40, 1, 1}}};
  CaseRunner runner;
  Problem problem;
  problem.src_type = problem.dst_type = ElementType::bytes(1);
  for (const ModeList& modes : cases) {
    problem.modes = modes;
    for (const int threads : {1, 4}) {
      EXPECT_EQ(runner.run(problem, "boxes", threads, GuardedBuffer::Touching::back), "");
      EXPECT_EQ(runner.run(problem, "boxes", threads, GuardedBuffer::Touching::front), "");
    }
  }
}

// Rows that repeat an element of the source: shorter than a vector, than a line, than the stage,
// and in parts; one behind the other or with gaps; sources forwards, backwards and the same again.
TEST_P(Kernels, RowsThatRepeatAnElement) {
  CaseRunner runner;
  Problem problem;
  for (const int size : {1, 2, 4, 8, 16}) {
    problem.src_type = problem.dst_type = ElementType::bytes(size);
    for (const std::int64_t row : {2, 3, 5, 16, 17, 63, 64, 67, 255, 300, 2047, 2048, 2051, 9001}) {
      for (const std::int64_t gap : {0, 1, 5}) {
        for (const std::int64_t step : {-3, 0, 1, 40}) {
          problem.modes = {{3, (3 * step + 7) * size, (11 * (row + gap) + 2 * gap) * size},
                           {11, step * size, (row + gap) * size},
                           {row, 0, size}};
          const int threads = row % 2 == 0 ? 1 : 4;
          ASSERT_EQ(runner.run(problem, "rows", threads, GuardedBuffer::Touching::back), "")
              << size << " B, row of " << row << ", gap of " << gap << ", step of " << step;
        }
      }
    }
  }
}

TEST_P(Kernels, ManyThreadsWriteTheirOwnBytesOnly) {
  CaseRunner runner;
  RandomProblems random(11, {8, 400 << 10, false});
  for (int i = 0; i < test::draws(300); ++i) {
    ASSERT_EQ(runner.run_all(random.next(), 4), "") << "problem " << i;
  }
}

}  // namespace
}  // namespace cornerturn::test
