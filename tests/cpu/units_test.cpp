// The units kernel: every number of rows and columns about the sizes of units, in whole calls and
// in shares.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "core/normalise.hpp"
#include "cpu/cpu_info.hpp"
#include "cpu/targets.hpp"
#include "plan/cpu/units.hpp"
#include "support/comparison.hpp"
#include "support/draws.hpp"
#include "support/random_problem.hpp"

namespace cornerturn::test {
namespace {

using plan::units::Family;

class Units : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override { cpu::use_target(GetParam()); }
  void TearDown() override { cpu::use_target(""); }
};

INSTANTIATE_TEST_SUITE_P(Targets, Units, testing::ValuesIn(cpu::targets()),
                         [](const auto& target) { return target.param; });

// A batch of matrices, with gaps or without, some of them upside down.
Problem random_matrices(RandomProblems& random) {
  const std::int64_t width = std::int64_t{1} << random.uniform(0, 4);
  const std::int64_t columns = (16 + random.uniform(0, 64)) / width + random.uniform(0, 20);
  const std::int64_t rows = (16 + random.uniform(0, 140)) / width + random.uniform(0, 2);
  const std::int64_t batch = random.uniform(1, 4);
  const std::int64_t src_pitch = (columns + random.uniform(0, 3)) * width;
  const std::int64_t dst_pitch = (rows + random.uniform(0, 3)) * width;
  Problem problem;
  problem.src_type = problem.dst_type = ElementType::bytes(width);
  if (batch > 1) problem.modes.push_back({batch, rows * src_pitch, columns * dst_pitch});
  problem.modes.push_back({columns, random.chance(0.8) ? width : -width, dst_pitch});
  problem.modes.push_back({rows, random.chance(0.8) ? src_pitch : -src_pitch, width});
  return problem;
}

TEST_P(Units, BatchesOfMatrices) {
  RandomProblems random(11, {});
  Comparison comparison(random);
  for (int i = 0; i < test::draws(3000); ++i) {
    const Problem problem = random_matrices(random);
    ASSERT_EQ(Family::why_not(problem, cpu::cpu_info()), nullptr) << to_string(problem);
    Family::configure(problem, cpu::cpu_info(), [&](const plan::UnitsConfig& config) {
      comparison.run<Family>(config, problem, random.uniform(0, 63), random.chance(0.5));
    });
    if (HasFatalFailure()) return;
  }
}

TEST_P(Units, AnyProblem) {
  RandomProblems random(12, {7, 30 << 10, true});
  Comparison comparison(random);
  int taken = 0;
  for (int i = 0; taken < draws(1000); ++i) {
    ASSERT_LT(i, 200'000) << "too few random problems are for this kernel";
    const Problem problem = normalise(random.next());
    if (Family::why_not(problem, cpu::cpu_info()) != nullptr) continue;
    ++taken;
    Family::configure(problem, cpu::cpu_info(), [&](const plan::UnitsConfig& config) {
      comparison.run<Family>(config, problem, 0, random.chance(0.5));
    });
    if (HasFatalFailure()) return;
  }
}

// Batches whose matrices follow one another within the runs of the destination, some of them by way
// of the stages.
TEST_P(Units, Groups) {
  RandomProblems random(13, {});
  Comparison comparison(random);
  for (int i = 0; i < test::draws(2000); ++i) {
    const std::int64_t width = std::int64_t{1} << random.uniform(0, 4);
    const std::int64_t columns = (16 + random.uniform(0, 90)) / width + random.uniform(0, 3);
    const std::int64_t rows = (16 + random.uniform(0, 90)) / width + random.uniform(0, 3);
    const std::int64_t batch = random.uniform(2, 9), outer = random.uniform(1, 2);
    const std::int64_t src_gap = random.uniform(0, 2) * width;
    const std::int64_t src_pitch = batch * (columns * width + src_gap);
    const std::int64_t dst_pitch = (batch * rows + random.uniform(0, 3)) * width;
    Problem problem;
    problem.src_type = problem.dst_type = ElementType::bytes(width);
    if (outer > 1) problem.modes.push_back({outer, rows * src_pitch, columns * dst_pitch});
    problem.modes.push_back({columns, random.chance(0.8) ? width : -width, dst_pitch});
    problem.modes.push_back({batch, columns * width + src_gap, rows * width});
    problem.modes.push_back({rows, src_pitch, width});
    plan::UnitsConfig config;
    config.columns = problem.rank() - 3;
    config.group_mode = problem.rank() - 2;
    const std::int64_t most = std::min(batch, plan::units::staged_bytes / (rows * columns * width));
    config.group = static_cast<int>(random.uniform(1, most));
    if (config.group == 1) config.group_mode = -1;
    comparison.run<Family>(config, problem, random.uniform(0, 63), random.chance(0.5));
    if (HasFatalFailure()) return;
  }
}

// Lines that lie a page apart: groups are offered as well, so large as the stages.
TEST(UnitsPlan, LinesOfOneSetAreStaged) {
  plan::CpuInfo cpu;
  cpu.isa = "AVX3";
  const auto groups_of = [&](std::int64_t pitch) {
    Problem problem;
    problem.src_type = problem.dst_type = ElementType::bytes(4);
    problem.modes = {{32, 4, pitch}, {32, 128, 128}, {32, pitch, 4}};
    std::vector<int> groups;
    Family::configure(problem, cpu,
                      [&](const plan::UnitsConfig& config) { groups.push_back(config.group); });
    return groups;
  };
  EXPECT_EQ(groups_of(4096), (std::vector<int>{1, 4}));
  EXPECT_EQ(groups_of(4096 + 64), (std::vector<int>{1}));
}

}  // namespace
}  // namespace cornerturn::test
