// Was the CPU's planner right? Every candidate of a case as a processor timed it, beside the plan
// that is made for that processor with given costs; and costs that are fitted to such timings.
#pragma once

#include <string>
#include <vector>

#include "gpu/measured_candidates.hpp"
#include "plan/cpu_info.hpp"

namespace cornerturn::bench {

/// What `cornerturn bench --all-candidates --threads 1` wrote, and the processor it ran on.
struct CpuMeasurement {
  plan::CpuInfo cpu;  ///< with the default costs
  std::vector<MeasuredCase> cases;
};

/// Throws an Error where the file is no such result.
CpuMeasurement cpu_measurement(const std::string& path);

/// Cases may be of the suites compiled in, or of the files `suites`.
std::vector<PlanCheck> check_cpu_plans(const CpuMeasurement& measured,
                                       const std::vector<std::string>& suites,
                                       const plan::CpuCosts& costs);

/// Costs near `costs` with which estimates and plans are closer to what was measured. `only`: the
/// families whose costs may change, or single costs; none: all may.
plan::CpuCosts fitted_cpu_costs(const std::vector<CpuMeasurement>& measured,
                                const std::vector<std::string>& suites, plan::CpuCosts costs,
                                int steps, unsigned seed,
                                const std::vector<std::string>& only = {});

}  // namespace cornerturn::bench
