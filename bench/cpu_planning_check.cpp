// cpu_planning_check RESULT.json ...: how far the plans for a CPU are behind the best of all
// candidates, as that CPU timed them, and costs fitted to such timings. A result is what
//   cornerturn bench --threads 1 --all-candidates --suite everyday,... --json RESULT.json
// writes; the processor is the one that the result names.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>
#include <fstream>

#include "cornerturn/error.hpp"
#include "cpu/measured_plans.hpp"
#include "harness/footprint.hpp"
#include "plan/cpu_files.hpp"
#include "plan_summary.hpp"

namespace cornerturn::bench {
namespace {

struct Arguments {
  std::vector<std::string> results;
  std::vector<std::string> suites;
  std::string cpu;    // whose costs the plans are made with
  std::string write;  // where fitted costs go
  bool cases = false;
  bool notes_least_bytes = false;
  std::vector<std::string> only;  // families and costs that are fitted
  int steps = 0;
  unsigned seed = 1;
};

constexpr double close = 0.1;

void judge(const Arguments& arguments, const std::vector<CpuMeasurement>& measured,
           const plan::CpuCosts& costs) {
  ClassSummary summary(close, arguments.cases);
  for (const CpuMeasurement& one : measured) {
    for (const PlanCheck& check : check_cpu_plans(one, arguments.suites, costs)) {
      summary.add(check);
    }
  }
  summary.print(arguments.cases);
}

void check(const Arguments& arguments) {
  if (arguments.notes_least_bytes) {
    for (const std::string& path : arguments.results) note_least_bytes(path, line_of_cpu);
    return;
  }
  std::vector<CpuMeasurement> measured;
  for (const std::string& path : arguments.results) measured.push_back(cpu_measurement(path));
  const plan::CpuInfo& first = measured.front().cpu;
  plan::CpuFile cpu;
  cpu.costs = plan::costs_of(first);
  if (!arguments.cpu.empty()) cpu = plan::cpu_file_named(arguments.cpu, "--cpu");
  judge(arguments, measured, cpu.costs);
  if (arguments.steps == 0) return;

  const plan::CpuCosts before = cpu.costs;
  cpu.costs = fitted_cpu_costs(measured, arguments.suites, cpu.costs, arguments.steps,
                               arguments.seed, arguments.only);
  fmt::print("\n");
  round_and_print(before, cpu.costs);
  fmt::print("\nafter the fit\n");
  judge(arguments, measured, cpu.costs);
  if (arguments.write.empty()) return;
  if (arguments.cpu.empty()) {
    cpu.name = first.model;
    cpu.models = {first.model};
    cpu.family = first.family;
    cpu.isa = first.isa;
  }
  std::ofstream file(arguments.write);
  if (!(file << plan::to_json(cpu)).flush()) {
    throw Error(Status::io_error, fmt::format("{} cannot be written", arguments.write));
  }
}

int run(int argc, char** argv) {
  Arguments arguments;
  CLI::App app{"Plans for a CPU beside what it measured, and costs fitted to that"};
  app.add_option("results", arguments.results, "Results of bench --threads 1 --all-candidates")
      ->required();
  app.add_option("--suite", arguments.suites, "Files of suites that the results name");
  app.add_option("--cpu", arguments.cpu, "Plan with the costs of this file of devices/cpu/");
  app.add_flag("--cases", arguments.cases, "List what is more than 10 % behind, and all classes");
  app.add_flag("--least-bytes", arguments.notes_least_bytes,
               "Only note in the results what memory moves at least, in whole lines");
  app.add_option("--fit", arguments.steps, "Search so many steps for better costs");
  app.add_option("--only", arguments.only, "Fit the costs of this family, or this cost, alone");
  app.add_option("--seed", arguments.seed, "Of the search")->capture_default_str();
  app.add_option("--write", arguments.write, "Write the fitted costs to this file");
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
    std::fprintf(stderr, "cpu_planning_check: %s\n", error.what());
    return 2;
  }
}
