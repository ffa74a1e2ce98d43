// Was the planner right? Every candidate of a case as a GPU timed it, beside the plan that is made
// for a description of that GPU. Needs no GPU.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "harness/case.hpp"
#include "plan/gpu/families.hpp"
#include "plan/plan.hpp"

namespace cornerturn::bench {

/// One candidate's time, as `cornerturn bench --all-candidates` reports it.
struct MeasuredCandidate {
  std::string kernel;
  std::string description;
  double seconds = 0;
};

struct MeasuredCase {
  std::string suite;
  std::string name;
  std::string group;
  int element_bytes = 1;
  std::vector<MeasuredCandidate> candidates;
};

/// The cases of a result file that were timed cold and have candidates.
std::vector<MeasuredCase> measured_cases(const std::string& path);

/// Stored results name the kernels that changed values apart: "tile_convert", "tile_convert: 64 x
/// 64 of f32 to f16". What they are called today.
std::string name_today(std::string stored);

/// The same cases as JSON of the same form, without all that planning is not judged by.
nlohmann::json condensed(const std::vector<MeasuredCase>& cases, const std::string& device);

/// How good the plan of a case is.
struct PlanCheck {
  std::string name;  ///< "everyday/matrix_4096 4 B"
  std::string group;
  int element_bytes = 1;
  std::string chosen;         ///< kernel and configuration
  std::string best;           ///< of the measured ones
  double chosen_seconds = 0;  ///< as measured; 0 if the chosen one was not measured
  double best_seconds = 0;
  double predicted_seconds = 0;
  int candidates = 0;           ///< that the planner offers
  double planning_seconds = 0;  ///< median time of making a quick plan

  /// By how much the chosen one is slower than the best.
  double loss() const { return chosen_seconds / best_seconds - 1; }
};

/// A plan beside what was measured; `name` is for people. Without the time of planning.
PlanCheck check_of(const MeasuredCase& measured, const std::string& name, const plan::Plan& plan);

/// The problem of a case, and the alignment of its pointers: that of the benchmark's buffers, as
/// far as the case's offsets leave it.
Problem problem_of(const Case& c);
Alignment alignment_of(const Case& c);

/// Plans every measured case for the device. `plannings`: how often, to time it.
std::vector<PlanCheck> check_plans(const std::vector<MeasuredCase>& measured,
                                   const plan::gpu::DeviceInfo& device,
                                   const plan::gpu::Costs& costs = plan::gpu::standard_costs(),
                                   int plannings = 1);

/// A search for better costs, along the derivatives of the estimates.
struct CostFit {
  int rounds = 0;
  std::vector<std::string> only = {};  ///< families or costs that may change; none: all may
};

/// Costs near `costs` with which estimates and plans are closer to what was measured.
plan::gpu::Costs fitted_costs(const std::vector<MeasuredCase>& measured,
                              const plan::gpu::DeviceInfo& device, plan::gpu::Costs costs,
                              const CostFit& fit);

}  // namespace cornerturn::bench
