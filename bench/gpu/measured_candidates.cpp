#include "gpu/measured_candidates.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <fstream>
#include <map>
#include <numeric>
#include <random>

#include "core/validate.hpp"
#include "cornerturn/error.hpp"

namespace cornerturn::bench {
namespace {

using plan::gpu::Plan;

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

const Case& case_of(const MeasuredCase& measured, std::map<std::string, Suite>& suites) {
  auto found = suites.find(measured.suite);
  if (found == suites.end())
    found = suites.emplace(measured.suite, load_suite(measured.suite)).first;
  for (const Case& c : found->second.cases) {
    if (c.name == measured.name && c.element_bytes == measured.element_bytes) return c;
  }
  throw Error(Status::invalid_argument,
              fmt::format("case = '{}' of {} B is not in suite '{}'", measured.name,
                          measured.element_bytes, measured.suite));
}

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
          {candidate.at("kernel"), candidate.at("candidate"), candidate.at("seconds")});
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
  return make_problem(ConstView(nullptr, type, c.shape, in_bytes(c.src_strides)),
                      View(nullptr, type, c.shape, in_bytes(c.dst_strides)));
}

Alignment alignment_of(const Case& c) {
  const auto of = [&](std::int64_t offset) {
    constexpr std::int64_t of_buffer = 256;
    return std::gcd(offset * c.element_bytes, of_buffer);
  };
  return {true, of(c.src_offset), of(c.dst_offset)};
}

std::vector<PlanCheck> check_plans(const std::vector<MeasuredCase>& measured,
                                   const plan::gpu::DeviceInfo& device,
                                   const plan::gpu::Costs& costs, int plannings) {
  std::map<std::string, Suite> suites;
  std::vector<PlanCheck> checks;
  for (const MeasuredCase& m : measured) {
    const Case& c = case_of(m, suites);
    const Problem problem = problem_of(c);
    Plan plan;
    std::vector<double> times;
    for (int i = 0; i < plannings; ++i) {
      const auto before = std::chrono::steady_clock::now();
      plan = plan::gpu::make_plan(problem, alignment_of(c), device, {}, costs);
      times.push_back(
          std::chrono::duration<double>(std::chrono::steady_clock::now() - before).count());
    }
    PlanCheck& check = checks.emplace_back();
    check.name = to_string(c);
    check.group = c.group;
    check.element_bytes = c.element_bytes;
    check.planning_seconds = median(times);
    check.predicted_seconds = plan.predicted_seconds();
    check.candidates = static_cast<int>(plan.candidates.size());
    const std::string chosen = describe(plan.chosen, plan.normal);
    check.chosen = fmt::format("{}: {}", plan.kernel(), chosen);
    for (const MeasuredCandidate& candidate : m.candidates) {
      if (candidate.kernel == plan.kernel() && candidate.description == chosen) {
        check.chosen_seconds = candidate.seconds;
      }
      if (check.best_seconds == 0 || candidate.seconds < check.best_seconds) {
        check.best_seconds = candidate.seconds;
        check.best = fmt::format("{}: {}", candidate.kernel, candidate.description);
      }
    }
  }
  return checks;
}

namespace {

// A case with the candidates that are both offered and measured.
struct FitCase {
  Problem normal;
  plan::gpu::Traffic least;
  plan::gpu::Candidates candidates;  // whose cost is the measured time
  double best = 0;
  bool counts_start = true;  // the time holds a launch: it was not one of many in a graph
};

std::vector<FitCase> fit_cases(const std::vector<MeasuredCase>& measured,
                               const plan::gpu::DeviceInfo& device) {
  std::map<std::string, Suite> suites;
  std::vector<FitCase> cases;
  for (const MeasuredCase& m : measured) {
    const Case& c = case_of(m, suites);
    const Plan plan = plan::gpu::make_plan(problem_of(c), alignment_of(c), device);
    FitCase fit{plan.normal, plan::gpu::least_traffic(plan.normal), {}, 0, m.group != "latency"};
    for (const MeasuredCandidate& candidate : m.candidates) {
      if (fit.best == 0 || candidate.seconds < fit.best) fit.best = candidate.seconds;
    }
    for (plan::gpu::Candidate candidate : plan.candidates) {
      const std::string text = describe(candidate, plan.normal);
      for (const MeasuredCandidate& known : m.candidates) {
        if (known.kernel != candidate.row->name || known.description != text) continue;
        candidate.cost_seconds = known.seconds;
        fit.candidates.push_back(candidate);
      }
    }
    if (!fit.candidates.empty()) cases.push_back(fit);
  }
  return cases;
}

// Less is better: plans that lose more than 3 %, what all lose, and how far estimates are off,
// where good candidates count more than bad ones.
double badness(const std::vector<FitCase>& cases, const plan::gpu::DeviceInfo& device,
               const plan::gpu::Costs& costs) {
  double lost = 0, losses = 0, off = 0, weights = 0;
  for (const FitCase& c : cases) {
    const plan::gpu::Model model{device, costs, c.least};
    double least = 1e9, taken = 0;
    for (const plan::gpu::Candidate& candidate : c.candidates) {
      const double seconds = candidate.row->estimate(candidate.config, c.normal, model).seconds;
      const double behind = candidate.cost_seconds / c.best;
      const double weight = std::exp(-4 * (behind - 1));
      if (c.counts_start)
        off += weight * std::min(std::abs(std::log(seconds / candidate.cost_seconds)), 0.5);
      if (c.counts_start) weights += weight;
      if (seconds >= least) continue;
      least = seconds;
      taken = behind - 1;
    }
    losses += std::min(taken, 0.5);
    lost += 1 / (1 + std::exp((0.03 - taken) / 0.004));
  }
  const auto n = static_cast<double>(cases.size());
  // What measurements do not tell stays as it is.
  double moved = 0;
  for (const auto& [name, field] : plan::gpu::cost_fields()) {
    const double times = std::log(costs.*field / plan::gpu::Costs{}.*field);
    moved += 0.0004 * times * times;
  }
  return lost / n + 2 * losses / n + off / weights + moved;
}

}  // namespace

plan::gpu::Costs fitted_costs(const std::vector<MeasuredCase>& measured,
                              const plan::gpu::DeviceInfo& device, plan::gpu::Costs costs,
                              int steps, unsigned seed) {
  const std::vector<FitCase> cases = fit_cases(measured, device);
  const auto& fields = plan::gpu::cost_fields();
  std::vector<double> reach(fields.size(), 0.3);
  std::mt19937 random(seed);
  std::normal_distribution<double> normal;
  double best = badness(cases, device, costs);
  for (int i = 0; i < steps; ++i) {
    const std::size_t which = random() % fields.size();
    plan::gpu::Costs trial = costs;
    trial.*fields[which].field *= std::exp(reach[which] * normal(random));
    const double value = badness(cases, device, trial);
    reach[which] =
        value < best ? std::min(reach[which] * 1.3, 0.8) : std::max(reach[which] * 0.93, 0.02);
    if (value >= best) continue;
    best = value;
    costs = trial;
  }
  return costs;
}

}  // namespace cornerturn::bench
