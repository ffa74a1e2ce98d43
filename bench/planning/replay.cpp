#include "planning/replay.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>
#include <optional>
#include <utility>

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

// What planning takes a call: each look at this clock is as much later.
double planning_clock() {
  static double now = 0;
  return now += 100e-6;
}

// Calls a problem again and again, as a caller does, and says how long each of them takes.
class Calls {
 public:
  // What was not measured takes as long as the model's choice, and its turn tells nothing.
  Calls(const MeasuredCase& measured, double chosen_seconds, const plan::Machine& machine)
      : measured_(measured), chosen_seconds_(chosen_seconds) {
    Plan plan = plan::make_quick_plan(measured.problem, machine, measured.request);
    plan.learning = plan::Learning::of(plan, measured.request);
    plan_ = std::make_shared<const Plan>(std::move(plan));
  }

  double next() {
    double seconds = 0;
    const auto run = [&](const Plan& plan) { return seconds = seconds_of(plan); };
    plan::Learning* const learning = plan_->learning.get();
    const Plan* const plain = learning == nullptr ? plan_.get() : learning->plain_call(*plan_);
    if (plain != nullptr) return run(*plain);
    const auto winner =
        learning->solve(*plan_, {[&](const Plan& one) { run(one); },
                                 [&](const Plan& one) -> plan::Timing {
                                   return [took = run(one)] { return std::optional(took); };
                                 },
                                 {},
                                 &planning_clock});
    if (winner != nullptr) plan_ = winner;
    return seconds;
  }

  double mean_of(int count) {
    double all = 0;
    for (int i = 0; i < count; ++i) all += next();
    return all / count;
  }

  int to_learn() const { return plan_->learning == nullptr ? 1 : plan::calls_to_learn(*plan_) + 1; }

 private:
  double seconds_of(const Plan& plan) const {
    return measured_.seconds_of(plan.chosen, plan.normal).value_or(chosen_seconds_);
  }

  const MeasuredCase& measured_;
  const double chosen_seconds_;
  std::shared_ptr<const Plan> plan_;
};

void replay_calls(const MeasuredCase& measured, const plan::Machine& machine, PlanCheck& check) {
  Calls first(measured, check.chosen_seconds, machine);
  check.first_30_seconds = first.mean_of(30);
  check.first_100_seconds = 0.3 * check.first_30_seconds + 0.7 * first.mean_of(70);
  const plan::UnpaidTurns at_last;
  Calls unpaid(measured, check.chosen_seconds, machine);
  unpaid.mean_of(unpaid.to_learn());
  check.learned_seconds = unpaid.next();
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
  replay_calls(measured, machine, check);
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
