// Judging the CPU's planner by measurements that are made up: what it chose was the best, or twice
// as slow; and a fit that learns which.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "cornerturn/error.hpp"
#include "plan/gpu/device_files.hpp"
#include "plan/planner.hpp"
#include "planning/fitted_costs.hpp"
#include "planning/replay.hpp"

namespace cornerturn::bench {
namespace {

constexpr const char* some_provenance = R"({"cpu": "some processor", "non_temporal_copy": "AVX2",
    "caches": ["L1 Data 48K", "L1 Instruction 32K", "L2 Unified 2M", "L3 Unified 12288K"]})";

Measurement measurement_of(const std::string& path) {
  return measurement(path, plan::gpu::device_named("h200"));
}

class CpuPlans : public testing::Test {
 protected:
  void SetUp() override { std::filesystem::create_directory(folder_); }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  // A result with some cases of a suite, in which the candidates of each take times(...) seconds.
  template <class Times>
  std::string result(Times times) {
    const plan::Machine cpu = measurement_of(write("empty.json", nlohmann::json::array())).machine;
    nlohmann::json cases = nlohmann::json::array();
    for (const Case& c : load_suite("ttc57").cases) {
      const plan::Plan plan = plan::make_plan(problem_of(c), cpu, {});
      nlohmann::json candidates = nlohmann::json::array();
      for (const plan::Candidate& candidate : plan.candidates) {
        candidates.push_back({{"kernel", candidate.row->name},
                              {"candidate", describe(candidate, plan.normal)},
                              {"seconds", times(candidate)}});
      }
      cases.push_back({{"suite", c.suite},
                       {"case", c.name},
                       {"class", c.group},
                       {"element_bytes", c.element_bytes},
                       {"candidates", candidates}});
    }
    return write("result.json", cases);
  }

  std::string write(const std::string& name, const nlohmann::json& cases, int threads = 1) {
    const nlohmann::json json = {{"device", "cpu"},
                                 {"threads", threads},
                                 {"provenance", nlohmann::json::parse(some_provenance)},
                                 {"cases", cases}};
    std::ofstream(folder_ / name) << json.dump();
    return (folder_ / name).string();
  }

  const std::filesystem::path folder_ =
      std::filesystem::temp_directory_path() / ("cornerturn_cpu_plans_" + std::to_string(getpid()));
};

TEST_F(CpuPlans, TheProcessorIsTheOneThatTheResultNames) {
  const Measurement measured = measurement_of(write("a.json", nlohmann::json::array()));
  const plan::CpuInfo& cpu = *measured.machine.cpu();
  EXPECT_EQ(cpu.model, "some processor");
  EXPECT_EQ(cpu.isa, "AVX2");
  EXPECT_EQ(cpu.l1_bytes, 48 << 10);
  EXPECT_EQ(cpu.l2_bytes, 2 << 20);
  EXPECT_EQ(cpu.l3_bytes, 12 << 20);
}

TEST_F(CpuPlans, OtherFilesAreRefused) {
  const std::string path = write("two.json", nlohmann::json::array(), 2);
  try {
    measurement_of(path);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(std::string(error.what()),
              "file = '" + path + "' is not a result of the benchmark on a CPU with one thread");
  }
}

TEST_F(CpuPlans, ThatWereTheBestLoseNothing) {
  const auto measured =
      measurement_of(result([](const plan::Candidate& c) { return c.seconds(); }));
  const auto checks = check_plans(measured);
  ASSERT_EQ(checks.size(), load_suite("ttc57").cases.size());
  for (const PlanCheck& check : checks) {
    EXPECT_EQ(check.loss(), 0) << check.name;
    EXPECT_NEAR(check.predicted_seconds / check.chosen_seconds, 1, 1e-9);
  }
}

TEST_F(CpuPlans, AFitLearnsThatAKernelIsSlow) {
  // tile takes half as long again as it should.
  const auto slow_tile = [](const plan::Candidate& c) {
    return c.seconds() * (c.row->name == "tile" ? 1.5 : 1);
  };
  const auto measured = measurement_of(result(slow_tile));
  const auto lost = [&](const plan::CpuCosts& costs) {
    double sum = 0;
    const plan::Machine machine = with_costs(measured.machine, costs);
    for (const MeasuredCase& one : measured.cases) sum += check_plan(one, machine).loss();
    return sum;
  };
  plan::CpuCosts before;
  plan::CpuCosts after = fitted_costs({measured}, before, {20});
  EXPECT_GT(lost(before), 0.5);
  EXPECT_LT(lost(after), lost(before) / 2);
  EXPECT_EQ(after.of<plan::convert::Costs>(),
            before.of<plan::convert::Costs>());  // nothing was measured
}

}  // namespace
}  // namespace cornerturn::bench
