// Costs fitted to what machines of one kind measured.
#pragma once

#include <string>
#include <vector>

#include "plan/cpu/costs.hpp"
#include "plan/gpu/families.hpp"
#include "planning/measured.hpp"

namespace cornerturn::bench {

/// A search for better costs, along the derivatives of the estimates.
struct CostFit {
  int rounds = 0;
  std::vector<std::string> only = {};  ///< families or costs that may change; none: all may
};

/// Costs near `costs` with which estimates and plans are closer to what was measured. All
/// measurements are of GPUs, or of CPUs.
plan::gpu::Costs fitted_costs(const std::vector<Measurement>& measured,
                              const plan::gpu::Costs& costs, const CostFit& fit);
plan::CpuCosts fitted_costs(const std::vector<Measurement>& measured, const plan::CpuCosts& costs,
                            const CostFit& fit);

}  // namespace cornerturn::bench
