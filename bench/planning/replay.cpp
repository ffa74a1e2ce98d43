#include "planning/replay.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>
#include <optional>

#include "plan/learning.hpp"

namespace cornerturn::bench {
namespace {

using plan::Plan;

// The median time of making a plan as a first call does.
double planning_seconds(const MeasuredCase& measured, const plan::Machine& machine, int plannings) {
  std::vector<double> times;
  for (int i = 0; i < plannings; ++i) {
    const auto before = std::chrono::steady_clock::now();
    plan::make_quick_plan(measured.problem, machine, measured.request);
    times.push_back(
        std::chrono::duration<double>(std::chrono::steady_clock::now() - before).count());
  }
  if (times.empty()) return 0;
  const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
  std::nth_element(times.begin(), middle, times.end());
  return *middle;
}

// Calls the problem so often, or until it has learned; the seconds of each call.
struct Calls {
  std::vector<double> seconds;
  double at_last = 0;
};
template <class SecondsOf>
Calls calls_of(const MeasuredCase& measured, const Plan& first, int count,
               const SecondsOf& seconds_of) {
  Calls calls{{}, seconds_of(first)};
  const auto learning = plan::Learning::of(first, measured.request);
  const auto run = [&](const Plan& one) { calls.seconds.push_back(seconds_of(one)); };
  const plan::Solver solver{run, [&](const Plan& one) -> plan::Timing {
                              run(one);
                              return [took = calls.seconds.back()] { return std::optional(took); };
                            }};
  auto plan = std::make_shared<const Plan>(first);
  while (calls.seconds.size() < static_cast<std::size_t>(count)) {
    const bool learns = learning != nullptr && !learning->ended();
    const Plan* const plain = learns ? learning->plain_call(*plan) : plan.get();
    if (plain != nullptr) {
      run(*plain);
    } else if (const auto winner = learning->solve(*plan, solver)) {
      plan = winner;
      learning->end();
    }
  }
  calls.at_last = seconds_of(*plan);
  return calls;
}

double mean_of_first(const Calls& calls, std::size_t count) {
  double sum = 0;
  for (std::size_t i = 0; i < count; ++i) sum += calls.seconds[i];
  return sum / static_cast<double>(count);
}

// As first calls learn, and what they know at last.
void replay_calls(const MeasuredCase& measured, const Plan& first, PlanCheck& check) {
  // What was not measured takes as long as the model's choice, and its turn tells nothing.
  const auto seconds_of = [&](const Plan& plan) {
    return measured.seconds_of(plan.chosen, plan.normal).value_or(check.chosen_seconds);
  };
  const Calls calls = calls_of(measured, first, 100, seconds_of);
  check.first_30_seconds = mean_of_first(calls, 30);
  check.first_100_seconds = mean_of_first(calls, 100);
  const plan::UnpaidTurns unpaid;
  const int enough = plan::calls_to_learn(first);
  check.learned_seconds = calls_of(measured, first, enough, seconds_of).at_last;
}

}  // namespace

PlanCheck check_plan(const MeasuredCase& measured, const plan::Machine& machine, int plannings) {
  const Plan plan = plan::make_plan(measured.problem, machine, measured.request);
  PlanCheck check;
  check.name = measured.label;
  check.group = measured.group;
  check.element_bytes = measured.element_bytes;
  check.predicted_seconds = plan.predicted_seconds();
  check.candidates = static_cast<int>(plan.candidates.size());
  check.chosen = fmt::format("{}: {}", plan.kernel(), describe(plan.chosen, plan.normal));
  check.best_seconds = measured.best_seconds();
  for (const MeasuredCandidate& one : measured.candidates) {
    if (one.seconds != check.best_seconds) continue;
    check.best = fmt::format("{}: {}", one.kernel, one.description);
    break;
  }
  check.planning_seconds = planning_seconds(measured, machine, plannings);
  const auto chosen = measured.seconds_of(plan.chosen, plan.normal);
  if (!chosen) return check;
  check.chosen_seconds = *chosen;
  replay_calls(measured, plan, check);
  return check;
}

std::vector<PlanCheck> check_plans(const Measurement& measured, int plannings) {
  std::vector<PlanCheck> checks;
  for (const MeasuredCase& one : measured.cases) {
    checks.push_back(check_plan(one, measured.machine, plannings));
  }
  return checks;
}

Regret regret_of(const std::vector<PlanCheck>& checks, double close) {
  Regret regret;
  for (const PlanCheck& check : checks) {
    ++regret.cases;
    if (check.chosen_seconds == 0) {
      ++regret.not_measured;
      continue;
    }
    const auto log_of = [&](double seconds) { return std::log(seconds / check.best_seconds); };
    regret.before += log_of(check.chosen_seconds);
    regret.first_30 += log_of(check.first_30_seconds);
    regret.first_100 += log_of(check.first_100_seconds);
    regret.learned += log_of(check.learned_seconds);
    regret.estimates_off += std::abs(std::log(check.predicted_seconds / check.chosen_seconds));
    regret.good += check.loss() <= close ? 1 : 0;
    regret.worst_before = std::max(regret.worst_before, check.loss());
    regret.worst_learned =
        std::max(regret.worst_learned, check.learned_seconds / check.best_seconds - 1);
  }
  const double counted = std::max(1, regret.cases - regret.not_measured);
  for (double* mean : {&regret.before, &regret.first_30, &regret.first_100, &regret.learned,
                       &regret.estimates_off}) {
    *mean = std::expm1(*mean / counted);
  }
  regret.good /= counted;
  return regret;
}

std::string Regret::text(const std::string& label) const {
  const std::string others = not_measured > 0 ? fmt::format(", {} not measured", not_measured) : "";
  return fmt::format(
      "{:<30} {:4} cases, {:5.1f} % good; slower than the fastest: {:5.2f} % (worst {:5.1f}), "
      "first "
      "30 calls {:5.2f}, first 100 {:5.2f}, learned {:5.2f} (worst {:5.1f}); estimates off by "
      "{:4.1f} %{}\n",
      label, cases, 100 * good, 100 * before, 100 * worst_before, 100 * first_30, 100 * first_100,
      100 * learned, 100 * worst_learned, 100 * estimates_off, others);
}

}  // namespace cornerturn::bench
