// One number of a model of what kernels cost.
#pragma once

#include <limits>
#include <span>
#include <string_view>
#include <type_traits>

namespace cornerturn::plan {

/// What the number is called in a fit and in files, what it is, what it means, and what it can be.
struct Cost {
  std::string_view name;
  double value;
  std::string_view meaning;
  double most = std::numeric_limits<double>::infinity();  ///< that a fit may make of it

  operator double() const { return value; }  // NOLINT: read as the number that it is

  friend bool operator==(const Cost&, const Cost&) = default;
};

/// The numbers of a struct that has members of type Cost and no others, in their order.
template <class Costs>
std::span<Cost> costs_in(Costs& costs) {
  static_assert(std::is_standard_layout_v<Costs> && sizeof(Costs) % sizeof(Cost) == 0);
  return {reinterpret_cast<Cost*>(&costs), sizeof(Costs) / sizeof(Cost)};
}

}  // namespace cornerturn::plan
