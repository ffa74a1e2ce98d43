// Was the planner right? Its plans beside what was measured: the model's choice, what the first
// calls of a problem would take while they learn, and what they learn.
#pragma once

#include <string>
#include <vector>

#include "planning/measured.hpp"

namespace cornerturn::bench {

/// How good the plan of a case is.
struct PlanCheck {
  std::string name;
  std::string group;
  int element_bytes = 1;
  std::string chosen;         ///< kernel and configuration
  std::string best;           ///< of the measured ones
  double chosen_seconds = 0;  ///< as measured; 0 if the chosen one was not measured
  double best_seconds = 0;
  double predicted_seconds = 0;
  double first_30_seconds = 0;  ///< of a call, while it learns, in the mean of so many
  double first_100_seconds = 0;
  double learned_seconds = 0;   ///< of a call from then on
  int candidates = 0;           ///< that the planner offers
  double planning_seconds = 0;  ///< median time of making a quick plan

  /// By how much the model's choice is slower than the best.
  double loss() const { return chosen_seconds / best_seconds - 1; }
};

/// Plans a case for a machine and replays its first calls: each takes as long as its candidate was
/// measured to take, without noise. `plannings`: how often the plan is made to time it.
PlanCheck check_plan(const MeasuredCase& measured, const plan::Machine& machine, int plannings = 0);

/// All cases of a measurement.
std::vector<PlanCheck> check_plans(const Measurement& measured, int plannings = 0);

/// Geometric means over cases whose choice was measured, as shares more than the fastest takes.
struct Regret {
  int cases = 0;
  int not_measured = 0;  ///< which the others do not count
  double before = 0;     ///< of the model's choice
  double first_30 = 0;
  double first_100 = 0;
  double learned = 0;
  double worst_before = 0;
  double worst_learned = 0;
  double good = 0;  ///< share of choices that are at most `close` slower
  double estimates_off = 0;

  std::string text(const std::string& label) const;
};
Regret regret_of(const std::vector<PlanCheck>& checks, double close = 0.03);

}  // namespace cornerturn::bench
