// The plans of every case of the public suites, for GPUs that are described, not there: a change of
// policy shows as a change of tests/plan/golden/gpu_*.txt. To write the files anew:
//   CORNERTURN_UPDATE_GOLDEN=1 test_plan --gtest_filter='*GoldenGpuPlans*'
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "gpu/measured_candidates.hpp"
#include "plan/gpu/device_files.hpp"

namespace cornerturn::plan::gpu {
namespace {

std::vector<std::string> plans_for(const DeviceInfo& device) {
  std::vector<std::string> lines;
  for (const bench::EmbeddedSuite& embedded : bench::embedded_suites()) {
    const bench::Suite suite =
        bench::parse_suite(std::string(embedded.text), std::string(embedded.name));
    for (const bench::Case& c : suite.cases) {
      const Plan plan = make_plan(bench::problem_of(c), bench::alignment_of(c), device);
      lines.push_back(fmt::format("{}: {}: {}", to_string(c), plan.kernel(),
                                  describe(plan.chosen, plan.normal)));
    }
  }
  return lines;
}

class GoldenGpuPlans : public testing::TestWithParam<std::string> {};

TEST_P(GoldenGpuPlans, AreTheExpectedOnes) {
  const std::string path =
      fmt::format("{}/tests/plan/golden/gpu_{}.txt", CORNERTURN_SOURCE_DIR, GetParam());
  const std::vector<std::string> plans = plans_for(device_named(GetParam()));
  if (std::getenv("CORNERTURN_UPDATE_GOLDEN") != nullptr) {
    std::ofstream file(path);
    for (const std::string& line : plans) file << line << '\n';
    ASSERT_TRUE(file.flush()) << path;
    return;
  }
  std::ifstream file(path);
  std::vector<std::string> expected;
  for (std::string line; std::getline(file, line);) expected.push_back(line);
  ASSERT_EQ(plans.size(), expected.size()) << path << ": one line for each case of the suites";
  for (std::size_t i = 0; i < plans.size(); ++i) {
    EXPECT_EQ(plans[i], expected[i]) << path << ":" << i + 1;
  }
}

INSTANTIATE_TEST_SUITE_P(Devices, GoldenGpuPlans,
                         testing::Values("a100", "h100", "h200", "b200", "rtx4090"),
                         [](const auto& device) { return device.param; });

}  // namespace
}  // namespace cornerturn::plan::gpu
