// The planner against measurements of the machines that it plans for.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

#include "plan/gpu/device_files.hpp"
#include "plan/planner.hpp"
#include "planning/replay.hpp"
#include "support/blocks.hpp"

namespace cornerturn::plan::gpu {
namespace {

// What plans lose against the fastest of all candidates, as a machine timed them: those that the
// model chooses, and those that the first calls learn.
struct Replayed {
  const char* file;
  std::size_t cases;       // at least
  double before, learned;  // shares of the fastest one's time, at most
};

class ReplayedPlans : public testing::TestWithParam<Replayed> {};

TEST_P(ReplayedPlans, LoseLittle) {
  const Replayed& replayed = GetParam();
  const std::string path = std::string(CORNERTURN_SOURCE_DIR) + "/bench/results/" + replayed.file;
  const auto checks = bench::check_plans(bench::measurement(path, device_named("h200")));
  ASSERT_GE(checks.size(), replayed.cases);
  const bench::Regret regret = bench::regret_of(checks);
  EXPECT_LE(regret.before, replayed.before) << regret.text(replayed.file);
  EXPECT_LE(regret.learned, replayed.learned) << regret.text(replayed.file);
}

INSTANTIATE_TEST_SUITE_P(
    Results, ReplayedPlans,
    testing::Values(Replayed{"gpu-h200/2026-11-30-candidates.json", 370, 0.023, 0.006},
                    Replayed{"random/gpu-h200-seed-641.json", 300, 0.033, 0.006},
                    Replayed{"random/cpu-zen5-unseen-3903.json", 80, 0.07, 0.01}));

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
    const Plan plan = make_plan(problem, device_named("h200"));
    const Candidate& choice = plan.chosen;
    const std::string name = fmt::format("{}: {}", choice.row->name, describe(choice, plan.normal));
    double best = 1, chosen = 0;
    for (const nlohmann::json& candidate : one.at("candidates")) {
      const double seconds = candidate.at("seconds");
      best = std::min(best, seconds);
      if (bench::name_today(candidate.at("name")) == name) chosen = seconds;
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

// Blocks have one kernel that is right for each: its estimate has to be about what was measured.
TEST(MeasuredPlans, OfBlocksAreEstimatedWell) {
  const std::string path =
      std::string(CORNERTURN_SOURCE_DIR) + "/bench/results/gpu-h200/conversions.json";
  const nlohmann::json measured = nlohmann::json::parse(std::ifstream(path));
  ASSERT_GE(measured.at("quantise").size(), 15U);
  for (const nlohmann::json& one : measured.at("quantise")) {
    const std::string name = one.at("case"), from = one.at("from"), to = one.at("to");
    const bool back = from == "q8_0" || from == "mxfp8_e4m3";
    const std::string plain = back ? to : from, format = back ? from : to;
    const ElementType type = ElementType::parse(plain);
    const BlockRule rule{format == "q8_0" ? BlockFormat::q8_0 : BlockFormat::mxfp8_e4m3};
    const std::int64_t rows = one.at("shape").at(0), cols = one.at("shape").at(1);
    const bool along_rows = name.starts_with("both") || name.starts_with("as it lies");
    const bool along_cols = name.starts_with("both") || name.starts_with("transposed");
    Problem problem = test::matrix_problem(type.kind(), rule, rows, cols, cols * type.size(),
                                           along_rows, along_cols);
    if (back) {
      Blocks blocks = *problem.blocks;
      blocks.back = true;
      problem = block_problem(type, {rows, cols}, {cols * type.size(), type.size()}, blocks);
    }
    const Plan plan = make_plan(problem, device_named("h200"));
    EXPECT_EQ(plan.kernel(), one.at("kernel").get<std::string>()) << name << from << to;
    const double ratio = plan.predicted_seconds() / one.at("seconds").get<double>();
    EXPECT_NEAR(ratio, 1, 0.12) << name << " " << from << " " << to;
  }
}

}  // namespace
}  // namespace cornerturn::plan::gpu
