// Random problems for the families that change values: drawn the same again, and planned.
#include "planning/value_cases.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "cornerturn/error.hpp"
#include "plan/gpu/device_files.hpp"
#include "plan/planner.hpp"
#include "planning/fitted_costs.hpp"
#include "planning/replay.hpp"

namespace cornerturn::bench {
namespace {

// A case as if some of its plan's candidates had taken as long as they are estimated to take.
MeasuredCase as_estimated(const ValueCase& c, const plan::Candidates& candidates,
                          const Problem& normal) {
  MeasuredCase one{"values", c.name, c.group, c.element_bytes, false, {}, c.text, c.problem, {}};
  for (const plan::Candidate& candidate : candidates) {
    one.candidates.push_back(
        {std::string(candidate.row->name), describe(candidate, normal), candidate.seconds()});
  }
  return one;
}

TEST(ValueCases, HavePlansOfEveryFamily) {
  const std::string suite = "values:60:3";
  Measurement measured{plan::gpu::device_named("h200"), {}};
  std::set<std::string> kernels;
  for (const ValueCase& c : value_cases(suite)) {
    const plan::Plan plan = plan::make_plan(c.problem, plan::gpu::device_named("h200"));
    kernels.insert(std::string(plan.kernel()));
    EXPECT_GE(c.src_bytes + c.dst_bytes, 1 << 20) << c.text;
    measured.cases.push_back(as_estimated(c, plan.candidates, plan.normal));
  }
  EXPECT_EQ(kernels, (std::set<std::string>{"amax", "blocks", "dequantise", "quantise"}));
  // What was measured is what is planned: found again by name, and the estimates are exact.
  for (const PlanCheck& check : check_plans(measured)) {
    EXPECT_EQ(check.loss(), 0) << check.name;
    EXPECT_EQ(check.chosen_seconds, check.predicted_seconds) << check.name;
    EXPECT_EQ(check.learned_seconds, check.best_seconds) << check.name;
  }
}

TEST(ValueCases, AFitFindsWhatAKernelCosts) {
  const std::string suite = "values:60:4";
  const plan::gpu::DeviceInfo device = plan::gpu::device_named("h200");
  plan::gpu::Costs truth, start;
  const auto set = [](plan::gpu::Costs& costs, const std::string& name, double times) {
    for (const auto& named : costs.named()) {
      if (named.name == name) named.cost->value *= times;
    }
  };
  set(truth, "amax.element", 3);
  Measurement measured{device, {}};
  for (const ValueCase& c : value_cases(suite)) {
    if (c.group != "amax") continue;
    const plan::Plan plan = plan::make_plan(c.problem, plan::Machine(device, truth));
    measured.cases.push_back(as_estimated(c, {plan.chosen}, plan.normal));
  }
  plan::gpu::Costs found = fitted_costs({measured}, start, {30, {"amax.element"}});
  double ratio = 0;
  for (const auto& named : found.named()) {
    if (named.name == "amax.element") ratio = named.cost->value;
  }
  for (const auto& named : start.named()) {
    if (named.name == "amax.element") ratio /= named.cost->value;
  }
  EXPECT_NEAR(ratio, 3, 0.3);
}

TEST(ValueCases, TheSameAgain) {
  const auto first = value_cases("values:20:7"), again = value_cases("values:20:7");
  for (std::size_t i = 0; i < first.size(); ++i) EXPECT_EQ(first[i].text, again[i].text);
  EXPECT_NE(first[0].text, value_cases("values:20:8")[0].text);
}

TEST(ValueCases, BadNames) {
  for (const char* name : {"values:", "values:5", "values:5:", "values:0:1", "values:5:x",
                           "values:5:1:2", "values:-5:1", "values:5:4294967296"}) {
    try {
      value_cases(name);
      ADD_FAILURE() << name;
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find(name), std::string::npos);
    }
  }
}

}  // namespace
}  // namespace cornerturn::bench
