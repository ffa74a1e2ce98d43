// planning_check DEVICE RESULT.json ...: how far the plans for a described GPU are behind the best
// of all candidates, as that GPU timed them, and costs fitted to such timings: all, or those of
// some families or names.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <exception>
#include <fstream>

#include "cornerturn/error.hpp"
#include "gpu/measured_candidates.hpp"
#include "harness/footprint.hpp"
#include "plan/gpu/device_files.hpp"
#include "plan_summary.hpp"

namespace cornerturn::bench {
namespace {

constexpr double close = 0.03;

struct Arguments {
  std::string device;
  std::vector<std::string> results;
  std::vector<std::string> judged;  // results that the fit does not see
  std::string condense;
  bool cases = false;
  bool notes_least_bytes = false;
  CostFit fit;
};

void judge(const Arguments& arguments, const std::vector<MeasuredCase>& measured,
           const plan::gpu::DeviceInfo& device, const plan::gpu::Costs& costs) {
  ClassSummary summary(close, arguments.cases);
  std::vector<double> times;
  int candidates = 0;
  for (const PlanCheck& check : check_plans(measured, device, costs, 15)) {
    summary.add(check);
    times.push_back(check.planning_seconds);
    candidates += check.candidates;
  }
  summary.print(true);
  std::sort(times.begin(), times.end());
  fmt::print("planning: {:.1f} us in the middle, {:.1f} us at worst; {:.1f} candidates a case\n",
             1e6 * times[times.size() / 2], 1e6 * times.back(),
             static_cast<double>(candidates) / static_cast<double>(times.size()));
}

std::vector<MeasuredCase> measured_in(const std::vector<std::string>& paths) {
  std::vector<MeasuredCase> measured;
  for (const std::string& path : paths) {
    const auto cases = measured_cases(path);
    measured.insert(measured.end(), cases.begin(), cases.end());
  }
  if (measured.empty()) {
    throw Error(Status::invalid_argument, "results: no case has candidates that were timed");
  }
  return measured;
}

void check(const Arguments& arguments) {
  if (arguments.notes_least_bytes) {
    for (const std::string& path : arguments.results) note_least_bytes(path, sector_of_gpu);
    return;
  }
  const std::vector<MeasuredCase> measured = measured_in(arguments.results);
  const plan::gpu::DeviceInfo device = plan::gpu::device_named(arguments.device);
  if (!arguments.condense.empty()) {
    std::ofstream(arguments.condense) << condensed(measured, arguments.device).dump(0) << '\n';
  }
  const plan::gpu::Costs before;
  judge(arguments, measured, device, before);
  if (arguments.fit.rounds == 0) return;
  plan::gpu::Costs costs = fitted_costs(measured, device, before, arguments.fit);
  fmt::print("\n");
  round_and_print(before, costs);
  fmt::print("\nafter the fit\n");
  judge(arguments, measured, device, costs);
  if (arguments.judged.empty()) return;
  const std::vector<MeasuredCase> judged = measured_in(arguments.judged);
  fmt::print("\nwhat the fit has not seen, before it\n");
  judge(arguments, judged, device, before);
  fmt::print("\nand after it\n");
  judge(arguments, judged, device, costs);
}

int run(int argc, char** argv) {
  Arguments arguments;
  CLI::App app{"Plans for a GPU beside what it measured, and costs fitted to that"};
  app.add_option("device", arguments.device, "A described GPU, such as h200")->required();
  app.add_option("results", arguments.results, "Results of bench --all-candidates")->required();
  app.add_flag("--cases", arguments.cases, "List what is more than 3 % behind");
  app.add_flag("--least-bytes", arguments.notes_least_bytes,
               "Only note in the results what memory moves at least, in whole sectors");
  app.add_option("--condense", arguments.condense, "Write what judging needs to this file");
  app.add_option("--fit", arguments.fit.rounds,
                 "Look for better costs, so many rounds along the derivatives of the estimates");
  app.add_option("--judge", arguments.judged, "Judge the fit by these results too");
  app.add_option("--only", arguments.fit.only, "Fit the costs of this family, or this cost, alone")
      ->allow_extra_args(false);
  CLI11_PARSE(app, argc, argv);
  check(arguments);
  return 0;
}

}  // namespace
}  // namespace cornerturn::bench

int main(int argc, char** argv) {
  try {
    return cornerturn::bench::run(argc, argv);
  } catch (const std::exception& error) {
    fmt::print(stderr, "planning_check: {}\n", error.what());
    return 2;
  }
}
