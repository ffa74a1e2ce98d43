// The kernels that offer themselves for every case of the public suites, for GPUs that are
// described, not there, and their configurations: a change of policy shows as a change of
// tests/plan/golden/gpu_*.txt. To write the files anew:
//   CORNERTURN_UPDATE_GOLDEN=1 test_plan --gtest_filter='*GoldenGpu*'
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "harness/case.hpp"
#include "plan/golden.hpp"
#include "plan/gpu/device_files.hpp"
#include "plan/planner.hpp"
#include "planning/measured.hpp"
#include "support/blocks.hpp"
#include "support/random_problem.hpp"

namespace cornerturn::plan::gpu {
namespace {

std::vector<std::string> plans_for(const DeviceInfo& device) {
  std::vector<std::string> lines;
  for (const bench::EmbeddedSuite& embedded : bench::embedded_suites()) {
    const bench::Suite suite =
        bench::parse_suite(std::string(embedded.text), std::string(embedded.name));
    for (const bench::Case& c : suite.cases) {
      const Plan plan = make_plan(bench::problem_of(c), device, {1, "", bench::alignment_of(c)});
      lines.push_back(fmt::format("{}: {}", to_string(c), test::kernels_of(plan)));
    }
  }
  return lines;
}

// Blocks of matrices along rows, columns or both, and back; of an array of three modes; reductions.
std::vector<Problem> operations() {
  constexpr BlockRule q8{}, mx{BlockFormat::mxfp8_e4m3};
  std::vector<Problem> all;
  for (const auto& [rows, cols] : {std::pair{32, 64}, {4096, 4096}, {16384, 1056}, {1000, 777}}) {
    for (const Kind kind : {Kind::f32, Kind::bf16, Kind::i32}) {
      const ElementType type(kind);
      const std::int64_t pitch = (cols + 15) / 16 * 16 * type.size();
      for (const BlockRule& rule : {q8, mx}) {
        for (const bool columns : {false, true}) {
          all.push_back(test::matrix_problem(kind, rule, rows, cols, pitch, !columns, columns));
          Blocks back = *all.back().blocks;
          back.back = true;
          all.push_back(block_problem(type, {rows, cols}, {pitch, type.size()}, back));
        }
      }
      all.push_back(test::matrix_problem(kind, mx, rows, cols, pitch, true, true));
      all.push_back(reduce_problem(type, {rows, cols}, {pitch, type.size()}));
      all.push_back(reduce_problem(type, {rows, cols}, {2 * type.size(), 2 * rows * type.size()}));
    }
  }
  const Blocks heads{q8, false, {3, {16 * 68, 68, 64 * 16 * 68, 34}, {}}, {}};
  all.push_back(
      block_problem(ElementType(Kind::bf16), {64, 16, 8, 64}, {2048, 128, 131072, 2}, heads));
  return all;
}

// All configurations of random problems, in alphabetical order: whatever they are thought to cost.
std::vector<std::string> configurations() {
  test::RandomProblems random(32, {6, 4 << 20, true});
  std::vector<std::string> lines;
  for (int i = 0; i < 80; ++i) {
    const Problem problem = random.next();
    const std::int64_t aligned = i % 3 == 0 ? problem.src_type.size() : 16;
    const Plan plan = make_plan(problem, device_named("h200"), {1, "", {true, aligned, 16}});
    test::append_configurations(problem, plan, lines);
  }
  return lines;
}

class GoldenGpuPlans : public testing::TestWithParam<std::string> {};

TEST_P(GoldenGpuPlans, AreTheExpectedOnes) {
  test::compare_with_golden("gpu_" + GetParam(), plans_for(device_named(GetParam())));
}

TEST(GoldenGpuOperations, AreTheExpectedOnes) {
  std::vector<std::string> lines;
  for (const Problem& problem : operations()) {
    const Plan plan = make_plan(problem, device_named("h200"));
    lines.push_back(fmt::format("{}: {}", to_string(problem), test::kernels_of(plan)));
  }
  test::compare_with_golden("gpu_operations", lines);
}

TEST(GoldenGpuConfigurations, AreTheExpectedOnes) {
  test::compare_with_golden("gpu_configurations", configurations());
}

INSTANTIATE_TEST_SUITE_P(Devices, GoldenGpuPlans, testing::Values("h200", "rtx4090"),
                         [](const auto& device) { return device.param; });

}  // namespace
}  // namespace cornerturn::plan::gpu
