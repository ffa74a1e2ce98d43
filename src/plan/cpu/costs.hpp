// What things cost a CPU's kernels, of all families together: what `planning_check --fit` fits to
// measurements, and what a file of devices/cpu/ holds for a processor.
#pragma once

#include <tuple>
#include <vector>

#include "plan/cpu/families.hpp"

namespace cornerturn::plan {

/// Each family says what its own costs are. As they stand there, they are those of one thread of a
/// Zen 4 processor with AVX-512, unless the family names another, and hold where no file does.
struct CpuCosts {
  CostsOf<CpuFamilies> families;

  /// Those of a family: of<tile::Costs>().
  template <class Costs>
  Costs& of() {
    return std::get<Costs>(families.of);
  }

  /// All numbers with their full names.
  using Named = NamedCost;
  std::vector<Named> named();

  friend bool operator==(const CpuCosts&, const CpuCosts&) = default;
};

}  // namespace cornerturn::plan
