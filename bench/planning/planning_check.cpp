// planning_check RESULT.json ...: how far plans are behind the fastest of all candidates, as a
// machine timed them: by the model, in the first calls of a problem, and once these have learned;
// and costs fitted to such timings. A result is what one of these writes:
//   cornerturn bench --threads 1 --all-candidates --suite everyday,... --json RESULT.json
//   cornerturn bench --device gpu --all-candidates --suite everyday,... --json RESULT.json
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <exception>
#include <fstream>
#include <map>

#include "cornerturn/error.hpp"
#include "harness/footprint.hpp"
#include "plan/cpu/cpu_files.hpp"
#include "plan/gpu/device_files.hpp"
#include "planning/fitted_costs.hpp"
#include "planning/replay.hpp"

namespace cornerturn::bench {
namespace {

struct Arguments {
  std::vector<std::string> results;
  std::vector<std::string> judged;  // results that the fit does not see
  std::vector<std::string> suites;
  std::string device = "h200";
  std::string cpu;               // whose costs plans for a CPU are made with
  std::string write;             // where fitted costs of a CPU go
  std::vector<std::string> set;  // costs that are judged with another value: "tile.block=0"
  bool cases = false;
  bool notes_least_bytes = false;
  CostFit fit;
};

using Measurements = std::vector<Measurement>;

bool on_gpu(const Measurements& measured) {
  return measured.front().machine.gpu() != nullptr;
}

Measurements measured_in(const Arguments& arguments, const std::vector<std::string>& paths) {
  const plan::gpu::DeviceInfo device = plan::gpu::device_named(arguments.device, "--on");
  Measurements all;
  for (const std::string& path : paths) {
    Measurement one = measurement(path, device, arguments.suites);
    if (one.cases.empty()) continue;
    all.push_back(std::move(one));
    if (on_gpu(all) != (all.back().machine.gpu() != nullptr)) {
      throw Error(
          Status::invalid_argument,
          fmt::format("file = '{}' is of another kind of machine than '{}'", path, paths[0]));
    }
  }
  if (all.empty()) {
    throw Error(Status::invalid_argument, "results: no case has candidates that were timed");
  }
  return all;
}

void list(const PlanCheck& check) {
  const double learned = check.learned_seconds / check.best_seconds - 1;
  fmt::print(
      "{:<40} {:6.1f} % (learned {:.1f})  {} {:.1f} us (predicted {:.1f}); best {} {:.1f} us\n",
      check.name, 100 * check.loss(), 100 * learned, check.chosen, 1e6 * check.chosen_seconds,
      1e6 * check.predicted_seconds, check.best, 1e6 * check.best_seconds);
}

template <class Costs>
void judge(const Arguments& arguments, const Measurements& measured, const Costs& costs) {
  const bool gpu = on_gpu(measured);
  const double close = gpu ? 0.03 : 0.1;
  std::vector<PlanCheck> all;
  std::map<std::string, std::vector<PlanCheck>> classes;
  for (const Measurement& of : measured) {
    const plan::Machine machine = with_costs(of.machine, costs);
    for (const MeasuredCase& one : of.cases) {
      all.push_back(check_plan(one, machine, gpu ? 15 : 0));
      const PlanCheck& check = all.back();
      classes[fmt::format("{} {:>2} B", check.group, check.element_bytes)].push_back(check);
      if (arguments.cases && (check.chosen_seconds == 0 || check.loss() > close)) list(check);
    }
  }
  for (const auto& [label, checks] : classes) {
    fmt::print("{}", regret_of(checks, close).text(label));
  }
  fmt::print("{}", regret_of(all, close).text("all"));
  if (!gpu) return;
  std::vector<double> times;
  for (const PlanCheck& check : all) times.push_back(check.planning_seconds);
  std::sort(times.begin(), times.end());
  fmt::print("planning: {:.1f} us in the middle, {:.1f} us at worst\n",
             1e6 * times[times.size() / 2], 1e6 * times.back());
}

// Rounds what a fit has found to four digits, which are more than measurements tell, and prints
// every cost before and after.
template <class Costs>
void round_and_print(Costs before, Costs& fitted) {
  const auto from = before.named();
  const auto to = fitted.named();
  for (std::size_t i = 0; i < to.size(); ++i) {
    to[i].cost->value = std::stod(fmt::format("{:.4g}", to[i].cost->value));
    fmt::print("{:<32} {:>9.4g} -> {:>9.4g}  {}\n", to[i].name, from[i].cost->value,
               to[i].cost->value, to[i].cost->meaning);
  }
}

// "tile.block=0": what an estimate is worth without a term shows so.
template <class Costs>
void set_cost(Costs& costs, const std::string& text) {
  const auto equals = text.find('=');
  for (const auto& named : costs.named()) {
    if (named.name != text.substr(0, equals)) continue;
    named.cost->value = std::stod(text.substr(equals + 1));
    return;
  }
  throw Error(Status::invalid_argument, fmt::format("--set = '{}' names no cost", text));
}

template <class Costs>
Costs judge_and_fit(const Arguments& arguments, const Measurements& measured, Costs before) {
  for (const std::string& text : arguments.set) set_cost(before, text);
  judge(arguments, measured, before);
  if (arguments.fit.rounds == 0) return before;
  Costs costs = fitted_costs(measured, before, arguments.fit);
  fmt::print("\n");
  round_and_print(before, costs);
  fmt::print("\nafter the fit\n");
  judge(arguments, measured, costs);
  if (arguments.judged.empty()) return costs;
  const Measurements judged = measured_in(arguments, arguments.judged);
  fmt::print("\nwhat the fit has not seen, before it\n");
  judge(arguments, judged, before);
  fmt::print("\nand after it\n");
  judge(arguments, judged, costs);
  return costs;
}

void write_cpu(const Arguments& arguments, const plan::CpuInfo& measured, plan::CpuFile cpu) {
  if (arguments.cpu.empty()) {
    cpu.name = measured.model;
    cpu.models = {measured.model};
    cpu.family = measured.family;
    cpu.isa = measured.isa;
  }
  std::ofstream file(arguments.write);
  if (!(file << plan::to_json(cpu)).flush()) {
    throw Error(Status::io_error, fmt::format("{} cannot be written", arguments.write));
  }
}

void check(const Arguments& arguments) {
  if (arguments.notes_least_bytes) {
    for (const std::string& path : arguments.results) {
      const Measurements one = measured_in(arguments, {path});
      note_least_bytes(path, on_gpu(one) ? sector_of_gpu : line_of_cpu);
    }
    return;
  }
  const Measurements measured = measured_in(arguments, arguments.results);
  if (on_gpu(measured)) {
    judge_and_fit(arguments, measured, plan::gpu::standard_costs());
    return;
  }
  const plan::CpuInfo& first = *measured.front().machine.cpu();
  plan::CpuFile cpu;
  cpu.costs = first.costs;
  if (!arguments.cpu.empty()) cpu = plan::cpu_file_named(arguments.cpu, "--cpu");
  cpu.costs =
      std::make_shared<const plan::CpuCosts>(judge_and_fit(arguments, measured, *cpu.costs));
  if (!arguments.write.empty()) write_cpu(arguments, first, cpu);
}

int run(int argc, char** argv) {
  Arguments arguments;
  CLI::App app{"Plans beside what a machine measured, and costs fitted to that"};
  app.add_option("results", arguments.results, "Results of bench --all-candidates")->required();
  app.add_option("--suite", arguments.suites, "Files of suites that the results name");
  app.add_option("--on", arguments.device, "The described GPU that results of a GPU are of")
      ->capture_default_str();
  app.add_option("--cpu", arguments.cpu, "Plan with the costs of this file of devices/cpu/");
  app.add_flag("--cases", arguments.cases, "List the choices that are not good");
  app.add_flag("--least-bytes", arguments.notes_least_bytes,
               "Only note in the results what memory moves at least, in whole sectors or lines");
  app.add_option("--fit", arguments.fit.rounds,
                 "Look for better costs, so many rounds along the derivatives of the estimates");
  app.add_option("--judge", arguments.judged, "Judge the fit by these results too");
  app.add_option("--only", arguments.fit.only, "Fit the costs of this family, or this cost, alone")
      ->allow_extra_args(false);
  app.add_option("--set", arguments.set, "Judge with another cost, as in tile.block=0")
      ->allow_extra_args(false);
  app.add_option("--write", arguments.write, "Write fitted costs of a CPU to this file");
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
    std::fprintf(stderr, "planning_check: %s\n", error.what());
    return 2;
  }
}
