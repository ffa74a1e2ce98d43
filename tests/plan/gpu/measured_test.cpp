// The planner against measurements: for 94 % of the cases of the public suites, the plan for an
// H200 is as good, within 3 %, as the best of all candidates that were timed there.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "gpu/measured_candidates.hpp"
#include "plan/gpu/device_files.hpp"

namespace cornerturn::plan::gpu {
namespace {

// The newest of the files that hold measured candidates.
std::string newest() {
  std::string path;
  const std::string folder = std::string(CORNERTURN_SOURCE_DIR) + "/bench/results/gpu-h200";
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    if (name.ends_with("-candidates.json")) path = std::max(path, entry.path().string());
  }
  return path;
}

TEST(MeasuredPlans, AreAmongTheBestOfWhatWasMeasured) {
  constexpr double close = 0.03;
  const std::string path = newest();
  ASSERT_FALSE(path.empty());
  const auto checks = bench::check_plans(bench::measured_cases(path), device_named("h200"));
  ASSERT_GE(checks.size(), 370U);
  std::size_t good = 0;
  std::string others;
  for (const bench::PlanCheck& check : checks) {
    if (check.chosen_seconds > 0 && check.loss() <= close) {
      ++good;
    } else {
      others += fmt::format("  {}: {}; best {}\n", check.name, check.chosen, check.best);
    }
  }
  EXPECT_GE(static_cast<double>(good), 0.94 * static_cast<double>(checks.size()))
      << good << " of " << checks.size() << " plans; not\n"
      << others;
}

}  // namespace
}  // namespace cornerturn::plan::gpu
