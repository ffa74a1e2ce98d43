#include "planning/fitted_costs.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "planning/fit.hpp"

namespace cornerturn::bench {
namespace {

// What a fit knows of one case: the candidates that were timed.
struct TimedCase {
  const plan::Machine* machine;
  Problem normal;
  std::optional<plan::gpu::Traffic> least;  // on a GPU
  int dst_phase = 0;                        // on a CPU
  plan::Candidates candidates;
  FitCase times;
};

std::vector<TimedCase> timed_cases(const std::vector<Measurement>& measured) {
  std::vector<TimedCase> cases;
  for (const Measurement& of : measured) {
    for (const MeasuredCase& one : of.cases) {
      const plan::Plan plan = plan::make_plan(one.problem, of.machine, one.request);
      TimedCase timed{&of.machine, plan.normal, {}, dst_phase_of(one.request, plan.normal), {}, {}};
      if (of.machine.gpu() != nullptr) timed.least = plan::gpu::least_traffic(plan.normal);
      timed.times.counts_estimates = of.machine.gpu() == nullptr || !one.in_graph;
      timed.times.best = one.best_seconds();
      for (const plan::Candidate& candidate : plan.candidates) {
        const auto seconds = one.seconds_of(candidate, plan.normal);
        if (!seconds) continue;
        timed.candidates.push_back(candidate);
        timed.times.seconds.push_back(*seconds);
      }
      if (!timed.candidates.empty()) cases.push_back(std::move(timed));
    }
  }
  return cases;
}

// "tile" of "tile.lane"; a cost that all families share has none.
std::string family_of(const std::string& cost) {
  const auto dot = cost.find('.');
  return dot == std::string::npos ? "" : cost.substr(0, dot);
}

// The costs that a fit may change: those that are named, by themselves or by their families, or
// all.
template <class Costs>
std::vector<typename Costs::Named> free_costs(Costs& costs, const std::vector<std::string>& only) {
  std::vector<typename Costs::Named> free;
  for (const auto& cost : costs.named()) {
    const bool named = std::any_of(only.begin(), only.end(), [&](const std::string& one) {
      return one == cost.name || one == family_of(cost.name);
    });
    if (only.empty() || named) free.push_back(cost);
  }
  return free;
}

const plan::gpu::SharedCosts* shared_of(const plan::gpu::Costs& costs) {
  return &costs.shared;
}
const plan::gpu::SharedCosts* shared_of(const plan::CpuCosts&) {
  return nullptr;
}

// What all candidates should take, for costs that change a few at a time: a cost of one family
// concerns its candidates alone.
template <class Costs>
class Estimates {
 public:
  explicit Estimates(const std::vector<TimedCase>& cases) : cases_(cases) {
    for (const TimedCase& one : cases) logs_.emplace_back(one.candidates.size());
  }

  // `changed` names families; one without a name is all of them.
  const LogEstimates& with(const Costs& costs, const std::vector<std::string>& changed) {
    const auto has = [&](std::string_view family) {
      return std::find(changed.begin(), changed.end(), family) != changed.end();
    };
    const bool all = has("");
    std::map<const plan::Machine*, plan::Machine> machines;
    for (std::size_t i = 0; i < cases_.size(); ++i) {
      const TimedCase& one = cases_[i];
      auto machine = machines.find(one.machine);
      if (machine == machines.end()) {
        machine = machines.emplace(one.machine, with_costs(*one.machine, costs)).first;
      }
      std::optional<plan::gpu::Model> model;
      if (one.least) {
        model.emplace(plan::gpu::Model{*machine->second.gpu(), *shared_of(costs), *one.least});
      }
      const plan::Setting setting{
          one.normal, machine->second, {}, model ? &*model : nullptr, one.dst_phase};
      for (std::size_t k = 0; k < one.candidates.size(); ++k) {
        const plan::Candidate& candidate = one.candidates[k];
        if (!all && !has(candidate.row->name)) continue;
        logs_[i][k] = std::log(candidate.row->estimate(candidate.config, setting).seconds);
      }
    }
    return logs_;
  }

 private:
  const std::vector<TimedCase>& cases_;
  LogEstimates logs_;
};

template <class Costs>
Costs fitted(const std::vector<Measurement>& measured, const Costs& costs, const CostFit& fit) {
  const std::vector<TimedCase> timed = timed_cases(measured);
  std::vector<FitCase> cases;
  cases.reserve(timed.size());
  for (const TimedCase& one : timed) cases.push_back(one.times);
  Costs start = costs;
  std::vector<FreeCost> free;
  std::vector<std::string> families;
  for (const auto& named : free_costs(start, fit.only)) {
    free.push_back({named.cost->value, named.cost->most});
    families.push_back(family_of(named.name));
  }
  const auto with_values = [&](const std::vector<double>& values) {
    Costs trial = costs;
    const auto to = free_costs(trial, fit.only);
    for (std::size_t i = 0; i < to.size(); ++i) to[i].cost->value = values[i];
    return trial;
  };
  Estimates<Costs> estimates(timed);
  std::vector<double> known;
  const auto estimates_with = [&](const std::vector<double>& values) {
    std::vector<std::string> changed;
    if (known.empty()) changed.push_back("");
    for (std::size_t i = 0; i < known.size(); ++i) {
      if (values[i] != known[i]) changed.push_back(families[i]);
    }
    known = values;
    return estimates.with(with_values(values), changed);
  };
  return with_values(fitted_along_derivatives(free, cases, estimates_with, fit.rounds));
}

}  // namespace

plan::gpu::Costs fitted_costs(const std::vector<Measurement>& measured,
                              const plan::gpu::Costs& costs, const CostFit& fit) {
  return fitted(measured, costs, fit);
}

plan::CpuCosts fitted_costs(const std::vector<Measurement>& measured, const plan::CpuCosts& costs,
                            const CostFit& fit) {
  return fitted(measured, costs, fit);
}

}  // namespace cornerturn::bench
