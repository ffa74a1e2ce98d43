// A plan for either kind of device, behind the public Plan.
#pragma once

#include <variant>

#include "plan/gpu/plan.hpp"
#include "plan/plan.hpp"

namespace cornerturn::plan {

struct AnyPlan {
  std::variant<Plan, gpu::Plan> plan;
  /// The number of the GPU here that it was made for; -1: the CPU, or a GPU that is only described.
  int gpu = -1;

  const Plan* of_cpu() const { return std::get_if<Plan>(&plan); }
  const gpu::Plan* of_gpu() const { return std::get_if<gpu::Plan>(&plan); }
  const Problem& problem() const {
    return std::visit([](const auto& p) -> const Problem& { return p.problem; }, plan);
  }

  friend bool operator==(const AnyPlan&, const AnyPlan&) = default;
};

}  // namespace cornerturn::plan
