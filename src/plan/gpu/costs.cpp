#include "plan/gpu/families.hpp"
#include "plan/plan.hpp"

namespace cornerturn::plan::gpu {

std::vector<Costs::Named> Costs::named() {
  std::vector<Named> all;
  for (Cost& cost : costs_in(shared)) all.push_back({std::string(cost.name), &cost});
  std::apply(
      [&](auto&... costs) {
        const auto add = [&](std::string_view family, auto& of_family) {
          for (Cost& cost : costs_in(of_family)) {
            all.push_back({std::string(family) + "." + std::string(cost.name), &cost});
          }
        };
        auto row = gpu_registry().begin();
        (add((row++)->name, costs), ...);
      },
      families.of);
  return all;
}

const Costs& standard_costs() {
  static const auto& costs = *new Costs;
  return costs;
}

}  // namespace cornerturn::plan::gpu
