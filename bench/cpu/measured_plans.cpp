#include "cpu/measured_plans.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "cornerturn/error.hpp"
#include "fit.hpp"
#include "plan/planner.hpp"

namespace cornerturn::bench {
namespace {

// "L2 Unified 512K" -> 512 KiB.
std::int64_t cache_bytes(const nlohmann::json& caches, const std::string& level) {
  for (const nlohmann::json& cache : caches) {
    std::istringstream text(cache.get<std::string>());
    std::string name, kind;
    std::int64_t size = 0;
    char unit = 0;
    text >> name >> kind >> size >> unit;
    if (name == level && kind != "Instruction") {
      return unit == 'K' ? size << 10 : unit == 'M' ? size << 20 : size;
    }
  }
  return 0;
}

plan::CpuInfo cpu_of(const nlohmann::json& provenance) {
  plan::CpuInfo cpu;
  cpu.model = provenance.at("cpu").get<std::string>();
  cpu.family = std::atoi(provenance.value("family_model_stepping", "").c_str());
  cpu.isa = provenance.at("non_temporal_copy").get<std::string>();
  const nlohmann::json& caches = provenance.at("caches");
  for (const auto& [level, bytes] :
       {std::pair{"L1", &cpu.l1_bytes}, {"L2", &cpu.l2_bytes}, {"L3", &cpu.l3_bytes}}) {
    if (const std::int64_t found = cache_bytes(caches, level)) *bytes = found;
  }
  return cpu;
}

// Buffers begin at cache lines, what a case writes so many bytes behind that.
plan::Request request_of(const Case& c) {
  plan::Request request;
  request.dst_phase = static_cast<int>(c.dst_offset * c.element_bytes % 64);
  return request;
}

// The geometry of measured cases.
class Geometry {
 public:
  explicit Geometry(const std::vector<std::string>& files) {
    for (const std::string& file : files) {
      const Suite suite = load_suite(file);
      suites_[suite.name] = suite;
    }
  }

  const Case& of(const MeasuredCase& measured) {
    if (!suites_.contains(measured.suite)) suites_[measured.suite] = load_suite(measured.suite);
    for (const Case& c : suites_[measured.suite].cases) {
      if (c.name == measured.name && c.element_bytes == measured.element_bytes) return c;
    }
    throw Error(Status::invalid_argument,
                fmt::format("case = '{}' of {} B is not in suite '{}'", measured.name,
                            measured.element_bytes, measured.suite));
  }

 private:
  std::map<std::string, Suite> suites_;
};

// All candidates in the order of the registry, which does not depend on what they cost.
plan::Candidates candidates_of(const Problem& normal, const plan::Machine& machine) {
  plan::Candidates all;
  for (const plan::Row& row : plan::cpu_registry()) {
    if (why_not(row, normal, machine) == nullptr) row.configure(row, {normal, machine, {}}, all);
  }
  return all;
}

// Older results name stores around the caches without saying that they depend on which are faster:
// of memory that is in no cache, as it was there, they are the same.
std::vector<MeasuredCandidate> named_as_now(std::vector<MeasuredCandidate> measured,
                                            const plan::Candidates& candidates,
                                            const Problem& normal) {
  for (const plan::Candidate& candidate : candidates) {
    const std::string text = describe(candidate, normal);
    for (MeasuredCandidate& known : measured) {
      if (known.kernel == candidate.row->name && known.description + " if that is faster" == text) {
        known.description = text;
      }
    }
  }
  return measured;
}

// What a fit knows of one case: the candidates that were timed, and the processor.
struct Fit {
  const plan::CpuInfo* cpu;
  Problem normal;
  int dst_phase;  // of its first element
  plan::Candidates timed;
  FitCase times;
};

std::vector<Fit> fits_of(const CpuMeasurement& measured, Geometry& geometry) {
  std::vector<Fit> fits;
  for (const MeasuredCase& m : measured.cases) {
    const Case& c = geometry.of(m);
    const plan::Request request = request_of(c);
    Fit fit{&measured.cpu, plan::make_plan(problem_of(c), measured.cpu, request).normal, 0, {}, {}};
    fit.dst_phase = plan::dst_phase_of(request, fit.normal);
    const plan::Candidates all = candidates_of(fit.normal, measured.cpu);
    const auto known_candidates = named_as_now(m.candidates, all, fit.normal);
    for (const MeasuredCandidate& known : known_candidates) {
      if (fit.times.best == 0 || known.seconds < fit.times.best) fit.times.best = known.seconds;
    }
    for (const plan::Candidate& candidate : all) {
      const std::string text = describe(candidate, fit.normal);
      for (const MeasuredCandidate& known : known_candidates) {
        if (known.kernel != candidate.row->name || known.description != text) continue;
        fit.timed.push_back(candidate);
        fit.times.seconds.push_back(known.seconds);
        break;
      }
    }
    if (!fit.timed.empty()) fits.push_back(std::move(fit));
  }
  return fits;
}

// The costs that a fit may change.
std::vector<plan::CpuCosts::Named> free_costs(plan::CpuCosts& costs,
                                              const std::vector<std::string>& only) {
  std::vector<plan::CpuCosts::Named> free;
  for (const plan::CpuCosts::Named& cost : costs.named()) {
    const std::string family = cost.name.substr(0, cost.name.find('.'));
    const bool named = std::any_of(only.begin(), only.end(), [&](const std::string& one) {
      return one == cost.name || one == family;
    });
    if (only.empty() || named) free.push_back(cost);
  }
  return free;
}

// What all candidates should take, for costs that change a few at a time: those of a family concern
// its candidates alone.
class CpuEstimates {
 public:
  explicit CpuEstimates(const std::vector<Fit>& fits) : fits_(fits) {
    for (const Fit& fit : fits) seconds_.emplace_back(fit.timed.size());
  }

  void update(const plan::CpuCosts& costs) {
    plan::CpuCosts now = costs;
    const auto named = now.named();
    std::set<std::string, std::less<>> changed;
    for (std::size_t i = 0; i < named.size(); ++i) {
      if (known_.empty() || named[i].cost->value != known_[i]) {
        changed.insert(named[i].name.substr(0, named[i].name.find('.')));
      }
    }
    known_.clear();
    for (const auto& one : named) known_.push_back(one.cost->value);
    std::map<const plan::CpuInfo*, plan::Machine> machines;
    for (std::size_t i = 0; i < fits_.size(); ++i) {
      auto found = machines.find(fits_[i].cpu);
      if (found == machines.end()) {
        plan::CpuInfo cpu = *fits_[i].cpu;
        cpu.costs = costs;
        found = machines.emplace(fits_[i].cpu, cpu).first;
      }
      for (std::size_t k = 0; k < seconds_[i].size(); ++k) {
        const plan::Candidate& candidate = fits_[i].timed[k];
        if (!changed.contains(candidate.row->name)) continue;
        seconds_[i][k] =
            candidate.row
                ->estimate(candidate.config,
                           {fits_[i].normal, found->second, {}, nullptr, fits_[i].dst_phase})
                .seconds;
      }
    }
  }
  double of(std::size_t i, std::size_t k) const { return seconds_[i][k]; }

 private:
  const std::vector<Fit>& fits_;
  std::vector<std::vector<double>> seconds_;
  std::vector<double> known_;
};

}  // namespace

CpuMeasurement cpu_measurement(const std::string& path) {
  std::ifstream file(path);
  const nlohmann::json json = nlohmann::json::parse(file, nullptr, false);
  if (!json.is_object() || json.value("device", "") != "cpu" || json.value("threads", 0) != 1 ||
      !json.contains("provenance")) {
    throw Error(
        Status::invalid_argument,
        fmt::format("file = '{}' is not a result of the benchmark on a CPU with one thread", path));
  }
  return {cpu_of(json["provenance"]), measured_cases(path)};
}

std::vector<PlanCheck> check_cpu_plans(const CpuMeasurement& measured,
                                       const std::vector<std::string>& suites,
                                       const plan::CpuCosts& costs) {
  Geometry geometry(suites);
  plan::CpuInfo cpu = measured.cpu;
  cpu.costs = costs;
  std::vector<PlanCheck> checks;
  for (const MeasuredCase& m : measured.cases) {
    const Case& c = geometry.of(m);
    const plan::Plan plan = plan::make_plan(problem_of(c), cpu, request_of(c));
    MeasuredCase now = m;
    now.candidates = named_as_now(m.candidates, plan.candidates, plan.normal);
    checks.push_back(
        check_of(now, fmt::format("{} {}", to_string(c), to_string(plan.normal)), plan));
  }
  return checks;
}

plan::CpuCosts fitted_cpu_costs(const std::vector<CpuMeasurement>& measured,
                                const std::vector<std::string>& suites, plan::CpuCosts costs,
                                int steps, unsigned seed, const std::vector<std::string>& only) {
  Geometry geometry(suites);
  std::vector<Fit> fits;
  for (const CpuMeasurement& one : measured) {
    for (Fit& fit : fits_of(one, geometry)) fits.push_back(std::move(fit));
  }
  std::vector<FitCase> cases;
  cases.reserve(fits.size());
  for (const Fit& fit : fits) cases.push_back(fit.times);
  CpuEstimates estimates(fits);
  const auto with_values = [&](const std::vector<double>& values) {
    plan::CpuCosts trial = costs;
    const auto to = free_costs(trial, only);
    for (std::size_t i = 0; i < to.size(); ++i) to[i].cost->value = values[i];
    return trial;
  };
  const auto badness_of = [&](const std::vector<double>& values) {
    estimates.update(with_values(values));
    return badness(cases, [&](std::size_t i, std::size_t k) { return estimates.of(i, k); });
  };
  std::vector<FreeCost> free;
  for (const auto& [name, cost] : free_costs(costs, only)) {
    free.push_back({cost->value, cost->most});
  }
  return with_values(fitted(free, badness_of, steps, seed));
}

}  // namespace cornerturn::bench
