// Problems with lists on a CPU: every candidate of random problems, against plain loops.
#include <gtest/gtest.h>

#include <iterator>
#include <vector>

#include "core/validate.hpp"
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

// Around the caches whole lines alone are written, wherever a run begins.
TEST_P(ListsOnTarget, RunsOfEveryLengthAndPlace) {
  plan::CpuInfo no_caches = cpu::cpu_info();
  no_caches.caches_taken = true;
  const std::int32_t indices[] = {6, -1, 0, 3, 3};
  constexpr std::int64_t entries = std::size(indices);
  std::vector<std::byte> pool(7 * 700);
  for (std::size_t i = 0; i < pool.size(); ++i) pool[i] = static_cast<std::byte>(i * 7 % 251);
  for (const std::int64_t bytes : {1, 5, 63, 64, 65, 127, 128, 129, 192, 320, 640, 700}) {
    for (const std::int64_t gap : {0, 3, 64}) {
      for (const std::size_t phase : {0UL, 1UL, 48UL, 63UL}) {
        const std::int64_t pitch = bytes + gap;
        std::vector<std::byte> memory(static_cast<std::size_t>(entries * pitch + 256), poison);
        const std::size_t start =
            (64 - reinterpret_cast<std::uintptr_t>(memory.data()) % 64) % 64 + phase;
        std::vector<std::byte> wanted = memory;
        for (std::int64_t k = 0; k < entries; ++k) {
          const auto row = static_cast<std::size_t>(indices[k] * bytes);
          for (std::int64_t b = 0; b < bytes; ++b) {
            const auto at = static_cast<std::size_t>(b);
            wanted[start + static_cast<std::size_t>(k * pitch) + at] =
                indices[k] < 0 ? std::byte{0} : pool[row + at];
          }
        }
        const ElementType byte(Kind::u8);
        const View to(memory.data() + start, byte, {entries, bytes}, {pitch, 1});
        const ConstListedView from =
            indexed(ConstView(pool.data(), byte, {7, bytes}), 0, indices, entries);
        Buffers buffers{to.data, pool.data()};
        buffers.lists.src = indices;
        buffers.lists.src_count = 7;
        plan::Request request;
        request.kernel = "listed";
        cpu::execute(plan::make_plan(make_problem(to, from, {}), no_caches, request), buffers);
        ASSERT_EQ(memory, wanted) << bytes << " B, " << gap << " B apart, from " << phase;
      }
    }
  }
}

}  // namespace cornerturn::test::listed
