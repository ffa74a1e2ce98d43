#include "plan/gpu/families.hpp"

namespace cornerturn::plan::gpu {

std::vector<Costs::Named> Costs::named() {
  std::vector<Named> all;
  for (Cost& cost : costs_in(shared)) all.push_back({std::string(cost.name), &cost});
  families.add_named(all);
  return all;
}

const Costs& standard_costs() {
  static const auto& costs = *new Costs;
  return costs;
}

}  // namespace cornerturn::plan::gpu
