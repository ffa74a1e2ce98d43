// Problems with lists on a CPU: every candidate of random problems, against plain loops.
#include <gtest/gtest.h>

#include "cpu/cpu_info.hpp"
#include "cpu/engine.hpp"
#include "cpu/targets.hpp"
#include "plan/planner.hpp"
#include "support/listed_cases.hpp"

namespace cornerturn::test::listed {

#if defined(CORNERTURN_TSAN)
constexpr int problems = 100;
#elif defined(CORNERTURN_ASAN)
constexpr int problems = 400;
#else
constexpr int problems = 2'000;
#endif

class ListsOnTarget : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override { cpu::use_target(GetParam()); }
  void TearDown() override { cpu::use_target(""); }
};
INSTANTIATE_TEST_SUITE_P(Targets, ListsOnTarget, testing::ValuesIn(cpu::targets()),
                         [](const auto& target) { return target.param; });

TEST_P(ListsOnTarget, EveryCandidateOfRandomProblems) {
  Cases cases(20261130);
  plan::CpuInfo no_caches = cpu::cpu_info();
  no_caches.caches_taken = true;
  const plan::Machine machines[] = {cpu::machine(), no_caches};
  int tiles = 0;
  for (int n = 0; n < problems; ++n) {
    Case one = random_case(cases, cases.chance(0.4));
    if (!one.has_list()) continue;
    const Buffers buffers = one.buffers();
    check_tables(one.problem, buffers, true);
    copy_plainly(one.dst, one.src, static_cast<std::size_t>(one.size));
    const auto wanted = one.dst.memory;
    for (const plan::Machine& machine : machines) {
      plan::Request request;
      request.threads = 1 + n % 2;
      plan::Plan plan = plan::make_plan(one.problem, machine, request);
      for (const plan::Candidate& candidate : plan::candidates_of(plan)) {
        const bool steps_apart = candidate.row->name == "listed";
        if (!steps_apart && one.skips()) continue;
        tiles += steps_apart ? 0 : 1;
        plan.choose(candidate, plan::Choice::forced);
        plan.threads = 1 + n % 2;
        fill(one.dst, poison);
        cpu::execute(plan, buffers);
        ASSERT_EQ(one.dst.memory, wanted)
            << "problem " << n << ": " << to_string(one.problem) << " by " << to_string(plan);
      }
    }
  }
  EXPECT_GT(tiles, problems / 20);
}

}  // namespace cornerturn::test::listed
