// The planner against measurements: for 92 % of the cases of the public suites, the plan for an
// H200 is as good, within 3 %, as the best of all candidates that were timed there.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

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
  EXPECT_GE(static_cast<double>(good), 0.92 * static_cast<double>(checks.size()))
      << good << " of " << checks.size() << " plans; not\n"
      << others;
}

// Conversions, which have measurements of their own: of one suite, for six pairs of types.
TEST(MeasuredPlans, OfConversionsAreAmongTheBestToo) {
  constexpr double close = 0.03;
  const std::string path =
      std::string(CORNERTURN_SOURCE_DIR) + "/bench/results/gpu-h200/conversions-measured.json";
  const nlohmann::json measured = nlohmann::json::parse(std::ifstream(path));
  const bench::Suite suite = bench::load_suite("everyday");
  std::size_t good = 0, all = 0;
  std::string others;
  for (const nlohmann::json& one : measured.at("cases")) {
    const auto wanted = [&](const bench::Case& c) {
      return c.name == one.at("case").get<std::string>() && c.element_bytes == 4;
    };
    const auto found = std::find_if(suite.cases.begin(), suite.cases.end(), wanted);
    ASSERT_NE(found, suite.cases.end()) << one.at("case");
    Problem problem;
    problem.src_type = ElementType::parse(one.at("from").get<std::string>());
    problem.dst_type = ElementType::parse(one.at("to").get<std::string>());
    for (std::size_t k = 0; k < found->shape.size(); ++k) {
      problem.modes.push_back({found->shape[k], found->src_strides[k] * problem.src_type.size(),
                               found->dst_strides[k] * problem.dst_type.size()});
    }
    const Plan plan = make_plan(problem, {true, 16, 16}, device_named("h200"));
    const Candidate& choice = plan.chosen;
    const std::string name = fmt::format("{}: {}", choice.row->name, describe(choice, plan.normal));
    double best = 1, chosen = 0;
    for (const nlohmann::json& candidate : one.at("candidates")) {
      const double seconds = candidate.at("seconds");
      best = std::min(best, seconds);
      if (candidate.at("name") == name) chosen = seconds;
    }
    ++all;
    if (chosen > 0 && chosen <= (1 + close) * best) {
      ++good;
    } else {
      others += fmt::format("  {}: {}, {:.2f} of the best\n", one.at("case").get<std::string>(),
                            name, chosen / best);
    }
  }
  ASSERT_GE(all, 130U);
  EXPECT_GE(static_cast<double>(good), 0.88 * static_cast<double>(all))
      << good << " of " << all << " plans; not\n"
      << others;
}

}  // namespace
}  // namespace cornerturn::plan::gpu
