#include "plan/cpu/costs.hpp"

#include "plan/cpu/cpu_info.hpp"

namespace cornerturn::plan {

std::vector<CpuCosts::Named> CpuCosts::named() {
  std::vector<Named> all;
  families.add_named(all);
  return all;
}

const std::shared_ptr<const CpuCosts>& standard_cpu_costs() {
  static const auto& costs = *new auto(std::make_shared<const CpuCosts>());
  return costs;
}

bool operator==(const CpuInfo& a, const CpuInfo& b) {
  const auto others = [](const CpuInfo& cpu) {
    return std::tie(cpu.model, cpu.isa, cpu.cores, cpu.line_bytes, cpu.l1_bytes, cpu.l2_bytes,
                    cpu.l3_bytes, cpu.caches_taken, cpu.family);
  };
  return others(a) == others(b) && (a.costs == b.costs || *a.costs == *b.costs);
}

}  // namespace cornerturn::plan
