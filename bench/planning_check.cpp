// planning_check DEVICE RESULT.json ... [--cases] [--condense OUT.json] [--fit STEPS [--seed N]
// [--only NAME]... [--judge RESULT.json]...]: how far the plans for a described GPU are behind the
// best of all candidates, as that GPU timed them. --fit first searches for better costs, all or
// those of some families or names, and prints them; --judge names results that it does not see,
// which the plans are then judged by as well, each file by itself.
#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <map>

#include "cornerturn/error.hpp"
#include "gpu/measured_candidates.hpp"
#include "plan/gpu/device_files.hpp"
#include "plan_summary.hpp"

namespace cornerturn::bench {
namespace {

constexpr double close = 0.03;

void print_if_behind(const PlanCheck& check) {
  if (check.chosen_seconds != 0 && check.loss() <= close) return;
  fmt::print(
      "{:<40} {:6.1f} %  {} {:.1f} us (predicted {:.1f}); best {} {:.1f} us; planned in {:.1f} "
      "us\n",
      check.name, 100 * check.loss(), check.chosen, 1e6 * check.chosen_seconds,
      1e6 * check.predicted_seconds, check.best, 1e6 * check.best_seconds,
      1e6 * check.planning_seconds);
}

int run(int argc, char** argv) {
  std::vector<MeasuredCase> measured;
  bool list = false;
  std::string condense;
  CostFit fit;
  std::vector<std::string> others;
  for (int i = 2; i < argc; ++i) {
    const std::string arg = argv[i];
    if (arg == "--cases") {
      list = true;
    } else if (arg == "--condense" && i + 1 < argc) {
      condense = argv[++i];
    } else if (arg == "--fit" && i + 1 < argc) {
      fit.steps = std::stoi(argv[++i]);
    } else if (arg == "--seed" && i + 1 < argc) {
      fit.seed = static_cast<unsigned>(std::stoi(argv[++i]));
    } else if (arg == "--only" && i + 1 < argc) {
      fit.only.emplace_back(argv[++i]);
    } else if (arg == "--judge" && i + 1 < argc) {
      others.emplace_back(argv[++i]);
    } else {
      const auto cases = measured_cases(arg);
      measured.insert(measured.end(), cases.begin(), cases.end());
    }
  }
  if (measured.empty()) {
    fmt::print(stderr,
               "usage: planning_check DEVICE RESULT.json ... [--cases] [--condense OUT] "
               "[--fit STEPS [--seed N] [--only NAME]... [--judge RESULT.json]...]\n");
    return 2;
  }
  const plan::gpu::DeviceInfo device = plan::gpu::device_named(argv[1]);
  if (!condense.empty()) std::ofstream(condense) << condensed(measured, argv[1]).dump(0) << '\n';

  plan::gpu::Costs costs;
  if (fit.steps > 0) {
    costs = fitted_costs(measured, device, costs, fit);
    for (const auto& [name, cost] : costs.named()) {
      fmt::print("{} = {:.3g}\n", name, cost->value);
    }
  }

  std::map<std::string, PlanSummary> classes;
  PlanSummary all(close);
  std::vector<double> times;
  int candidates = 0;
  for (const PlanCheck& check : check_plans(measured, device, costs, 15)) {
    classes.try_emplace(fmt::format("{} {:>2} B", check.group, check.element_bytes), close)
        .first->second.add(check);
    all.add(check);
    times.push_back(check.planning_seconds);
    candidates += check.candidates;
    if (list) print_if_behind(check);
  }
  for (const auto& [label, summary] : classes) summary.print(label);
  all.print("all");
  for (const std::string& other : others) {
    PlanSummary judged(close);
    for (const PlanCheck& check : check_plans(measured_cases(other), device, costs)) {
      judged.add(check);
      if (list) print_if_behind(check);
    }
    judged.print(other.substr(other.rfind('/') + 1));
  }
  std::sort(times.begin(), times.end());
  fmt::print("planning: {:.1f} us in the middle, {:.1f} us at worst; {:.1f} candidates a case\n",
             1e6 * times[times.size() / 2], 1e6 * times.back(),
             static_cast<double>(candidates) / static_cast<double>(times.size()));
  return 0;
}

}  // namespace
}  // namespace cornerturn::bench

int main(int argc, char** argv) {
  try {
    return cornerturn::bench::run(argc, argv);
  } catch (const cornerturn::Error& error) {
    fmt::print(stderr, "planning_check: {}\n", error.what());
    return 2;
  }
}
