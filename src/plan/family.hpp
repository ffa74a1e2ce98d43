// What the families of kernels for both kinds of machines have in common: plan/cpu/families.hpp
// lists those of the CPU, plan/gpu/families.hpp those of GPUs.
#pragma once

#include <functional>
#include <string>
#include <tuple>
#include <vector>

#include "plan/cost.hpp"

namespace cornerturn::plan {

/// Takes the configurations that a family offers.
template <class Config>
using Add = std::function<void(const Config&)>;

/// Types, in order.
template <class... Types>
struct TypeList {};

/// A cost, and its full name: "tile.read_line_ns".
struct NamedCost {
  std::string name;
  Cost* cost;
};

/// What the families of a list cost, in its order.
template <class List>
struct CostsOf;
template <class... Family>
struct CostsOf<TypeList<Family...>> {
  std::tuple<typename Family::Costs...> of;

  void add_named(std::vector<NamedCost>& all) {
    (add_named(Family::name, std::get<typename Family::Costs>(of), all), ...);
  }

  friend bool operator==(const CostsOf&, const CostsOf&) = default;

 private:
  template <class Costs>
  static void add_named(std::string_view family, Costs& costs, std::vector<NamedCost>& all) {
    for (Cost& cost : costs_in(costs)) {
      all.push_back({std::string(family) + "." + std::string(cost.name), &cost});
    }
  }
};

}  // namespace cornerturn::plan
