#include "gpu/measured_candidates.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <fstream>
#include <map>
#include <numeric>

#include "core/validate.hpp"
#include "cornerturn/error.hpp"
#include "fit.hpp"
#include "gpu/value_cases.hpp"
#include "plan/planner.hpp"

namespace cornerturn::bench {
namespace {

using plan::Plan;

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// The problems of cases that were measured, each suite loaded once.
class Problems {
 public:
  struct Known {
    std::string name;
    Problem problem;
    Alignment alignment{true};
  };

  Known of(const MeasuredCase& measured) {
    return is_value_suite(measured.suite) ? values(measured) : moved(measured);
  }

 private:
  Known moved(const MeasuredCase& measured) {
    auto found = suites_.find(measured.suite);
    if (found == suites_.end()) {
      found = suites_.emplace(measured.suite, load_suite(measured.suite)).first;
    }
    for (const Case& c : found->second.cases) {
      if (c.name != measured.name || c.element_bytes != measured.element_bytes) continue;
      return {to_string(c), problem_of(c), alignment_of(c)};
    }
    throw Error(Status::invalid_argument,
                fmt::format("case = '{}' of {} B is not in suite '{}'", measured.name,
                            measured.element_bytes, measured.suite));
  }

  Known values(const MeasuredCase& measured) {
    auto found = values_.find(measured.suite);
    if (found == values_.end()) {
      found = values_.emplace(measured.suite, value_cases(measured.suite)).first;
    }
    for (const ValueCase& c : found->second) {
      if (c.name == measured.name) return {c.name + " " + c.text, c.problem};
    }
    throw Error(Status::invalid_argument,
                fmt::format("case = '{}' is not in suite '{}'", measured.name, measured.suite));
  }

  std::map<std::string, Suite> suites_;
  std::map<std::string, std::vector<ValueCase>> values_;
};

void append_cases(const nlohmann::json& run, const std::string& path,
                  std::vector<MeasuredCase>& cases) {
  if (!run.is_object() || !run.contains("cases")) {
    throw Error(Status::invalid_argument,
                fmt::format("file = '{}' is not a result of the benchmark", path));
  }
  for (const nlohmann::json& c : run["cases"]) {
    const auto listed = c.find("candidates");
    if (listed == c.end() || listed->empty()) continue;
    MeasuredCase& to = cases.emplace_back();
    to.suite = c.at("suite");
    to.name = c.at("case");
    to.group = c.at("class");
    to.element_bytes = c.at("element_bytes");
    for (const nlohmann::json& candidate : *listed) {
      to.candidates.push_back(
          {name_today(candidate.at("kernel")), candidate.at("candidate"), candidate.at("seconds")});
    }
  }
}

}  // namespace

std::vector<MeasuredCase> measured_cases(const std::string& path) {
  std::ifstream file(path);
  const nlohmann::json json = nlohmann::json::parse(file, nullptr, false);
  const auto runs =
      json.is_object() && json.contains("runs") ? json["runs"] : nlohmann::json::array({json});
  std::vector<MeasuredCase> cases;
  for (const nlohmann::json& run : runs) append_cases(run, path, cases);
  return cases;
}

std::string name_today(std::string stored) {
  static constexpr std::string_view apart = "_convert";
  const auto kernel = std::string_view(stored).substr(0, stored.find(':'));
  if (kernel.ends_with(apart)) stored.erase(kernel.size() - apart.size(), apart.size());
  return stored;
}

nlohmann::json condensed(const std::vector<MeasuredCase>& cases, const std::string& device) {
  nlohmann::json list = nlohmann::json::array();
  for (const MeasuredCase& c : cases) {
    nlohmann::json candidates = nlohmann::json::array();
    for (const MeasuredCandidate& candidate : c.candidates) {
      candidates.push_back({{"kernel", candidate.kernel},
                            {"candidate", candidate.description},
                            {"seconds", candidate.seconds}});
    }
    list.push_back({{"suite", c.suite},
                    {"case", c.name},
                    {"class", c.group},
                    {"element_bytes", c.element_bytes},
                    {"candidates", candidates}});
  }
  return {{"device", device}, {"cases", list}};
}

Problem problem_of(const Case& c) {
  const auto in_bytes = [&](std::vector<std::int64_t> strides) {
    for (std::int64_t& stride : strides) stride *= c.element_bytes;
    return Extents(strides.begin(), strides.end());
  };
  const ElementType type = ElementType::bytes(c.element_bytes);
  return make_problem(View(nullptr, type, c.shape, in_bytes(c.dst_strides)),
                      ConstView(nullptr, type, c.shape, in_bytes(c.src_strides)));
}

Alignment alignment_of(const Case& c) {
  const auto of = [&](std::int64_t offset) {
    constexpr std::int64_t of_buffer = 256;
    return std::gcd(offset * c.element_bytes, of_buffer);
  };
  return {true, of(c.src_offset), of(c.dst_offset)};
}

PlanCheck check_of(const MeasuredCase& measured, const std::string& name, const Plan& plan) {
  PlanCheck check;
  check.name = name;
  check.group = measured.group;
  check.element_bytes = measured.element_bytes;
  check.predicted_seconds = plan.predicted_seconds();
  check.candidates = static_cast<int>(plan.candidates.size());
  const std::string chosen = describe(plan.chosen, plan.normal);
  check.chosen = fmt::format("{}: {}", plan.kernel(), chosen);
  for (const MeasuredCandidate& candidate : measured.candidates) {
    if (candidate.kernel == plan.kernel() && candidate.description == chosen) {
      check.chosen_seconds = candidate.seconds;
    }
    if (check.best_seconds == 0 || candidate.seconds < check.best_seconds) {
      check.best_seconds = candidate.seconds;
      check.best = fmt::format("{}: {}", candidate.kernel, candidate.description);
    }
  }
  return check;
}

std::vector<PlanCheck> check_plans(const std::vector<MeasuredCase>& measured,
                                   const plan::gpu::DeviceInfo& device,
                                   const plan::gpu::Costs& costs, int plannings) {
  const plan::Machine machine(device, costs);
  Problems problems;
  std::vector<PlanCheck> checks;
  for (const MeasuredCase& m : measured) {
    const Problems::Known known = problems.of(m);
    const plan::Request request{1, "", known.alignment};
    const Plan plan = plan::make_plan(known.problem, machine, request);
    std::vector<double> times;
    for (int i = 0; i < plannings; ++i) {
      const auto before = std::chrono::steady_clock::now();
      plan::make_quick_plan(known.problem, machine, request);
      times.push_back(
          std::chrono::duration<double>(std::chrono::steady_clock::now() - before).count());
    }
    PlanCheck& check = checks.emplace_back(check_of(m, known.name, plan));
    check.planning_seconds = median(times);
  }
  return checks;
}

namespace {

// What a fit knows of one case: the candidates that were timed.
struct TimedCase {
  Problem normal;
  plan::gpu::Traffic least;
  plan::Candidates candidates;
  FitCase times;
};

std::vector<TimedCase> timed_cases(const std::vector<MeasuredCase>& measured,
                                   const plan::gpu::DeviceInfo& device) {
  const plan::Machine machine = device;
  Problems problems;
  std::vector<TimedCase> cases;
  for (const MeasuredCase& m : measured) {
    const Problems::Known known = problems.of(m);
    const Plan plan = plan::make_plan(known.problem, machine, {1, "", known.alignment});
    TimedCase timed{plan.normal, plan::gpu::least_traffic(plan.normal), {}, {}};
    timed.times.counts_estimates = m.group != "latency";  // many in a graph: without the launch
    for (const MeasuredCandidate& candidate : m.candidates) {
      if (timed.times.best == 0 || candidate.seconds < timed.times.best)
        timed.times.best = candidate.seconds;
    }
    for (const plan::Candidate& candidate : plan.candidates) {
      const std::string text = describe(candidate, plan.normal);
      for (const MeasuredCandidate& one : m.candidates) {
        if (one.kernel != candidate.row->name || one.description != text) continue;
        timed.candidates.push_back(candidate);
        timed.times.seconds.push_back(one.seconds);
      }
    }
    if (!timed.candidates.empty()) cases.push_back(timed);
  }
  return cases;
}

std::string family_of(const std::string& cost) {
  return cost.substr(0, cost.find('.'));
}

// The costs that a fit may change: those that are named, by themselves or by their families, or
// all.
std::vector<plan::gpu::Costs::Named> free_costs(plan::gpu::Costs& costs,
                                                const std::vector<std::string>& only) {
  std::vector<plan::gpu::Costs::Named> free;
  for (const plan::gpu::Costs::Named& cost : costs.named()) {
    const bool named = std::any_of(only.begin(), only.end(), [&](const std::string& one) {
      return one == cost.name || one == family_of(cost.name);
    });
    if (only.empty() || named) free.push_back(cost);
  }
  return free;
}

// What all candidates should take, for costs that change a few at a time: a cost of one family
// concerns its candidates alone.
class Estimates {
 public:
  Estimates(const std::vector<TimedCase>& cases, const plan::gpu::DeviceInfo& device)
      : cases_(cases), device_(device) {
    for (const TimedCase& one : cases) seconds_.emplace_back(one.candidates.size());
  }

  void update(const plan::gpu::Costs& costs, const std::vector<std::string>& changed_families,
              bool all) {
    const plan::Machine machine(device_, costs);
    for (std::size_t i = 0; i < cases_.size(); ++i) {
      const plan::gpu::Model model{device_, costs.shared, cases_[i].least};
      for (std::size_t k = 0; k < seconds_[i].size(); ++k) {
        const plan::Candidate& candidate = cases_[i].candidates[k];
        const auto& changed = changed_families;
        if (!all && std::find(changed.begin(), changed.end(), candidate.row->name) == changed.end())
          continue;
        seconds_[i][k] =
            candidate.row->estimate(candidate.config, {cases_[i].normal, machine, {}, &model})
                .seconds;
      }
    }
  }
  double of(std::size_t i, std::size_t k) const { return seconds_[i][k]; }

 private:
  const std::vector<TimedCase>& cases_;
  const plan::gpu::DeviceInfo& device_;
  std::vector<std::vector<double>> seconds_;
};

}  // namespace

plan::gpu::Costs fitted_costs(const std::vector<MeasuredCase>& measured,
                              const plan::gpu::DeviceInfo& device, plan::gpu::Costs costs,
                              const CostFit& fit) {
  const std::vector<TimedCase> timed = timed_cases(measured, device);
  std::vector<FitCase> cases;
  cases.reserve(timed.size());
  for (const TimedCase& one : timed) cases.push_back(one.times);
  std::vector<FreeCost> free;
  std::vector<std::string> families;  // empty: shared by all
  for (const auto& named : free_costs(costs, fit.only)) {
    free.push_back({named.cost->value, named.cost->most});
    families.push_back(named.name.find('.') == std::string::npos ? "" : family_of(named.name));
  }
  const auto with_values = [&](const std::vector<double>& values) {
    plan::gpu::Costs trial = costs;
    const auto to = free_costs(trial, fit.only);
    for (std::size_t i = 0; i < to.size(); ++i) to[i].cost->value = values[i];
    return trial;
  };
  Estimates estimates(timed, device);
  std::vector<double> known;
  const auto estimates_with = [&](const std::vector<double>& values) {
    std::vector<std::string> changed;
    for (std::size_t i = 0; i < known.size(); ++i) {
      if (values[i] != known[i]) changed.push_back(families[i]);
    }
    const bool all =
        known.empty() || std::find(changed.begin(), changed.end(), "") != changed.end();
    estimates.update(with_values(values), changed, all);
    known = values;
    LogEstimates logs;
    for (std::size_t i = 0; i < cases.size(); ++i) {
      logs.emplace_back();
      for (std::size_t k = 0; k < cases[i].seconds.size(); ++k) {
        logs.back().push_back(std::log(estimates.of(i, k)));
      }
    }
    return logs;
  };
  return with_values(fitted_along_derivatives(free, cases, estimates_with, fit.rounds));
}

}  // namespace cornerturn::bench
