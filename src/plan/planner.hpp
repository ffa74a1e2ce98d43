// Chooses: registry rows that apply x their configurations -> cost -> best.
#pragma once

#include <string>

#include "plan/plan.hpp"

namespace cornerturn::plan {

struct Request {
  int threads = 1;     ///< at most so many; small problems use fewer
  std::string kernel;  ///< force this kernel; empty: choose

  friend bool operator==(const Request&, const Request&) = default;
};

/// So many threads are of use to a problem of this size, at most 1024: below some bytes a second
/// thread costs more than it brings.
int useful_threads(const Problem& problem);

/// A plan for `problem` on `cpu`. Throws when the forced kernel is unknown or does not apply.
Plan make_plan(const Problem& problem, const CpuInfo& cpu, const Request& request);

/// Bypass the caches on stores? Pays once the destination would push everything else out of them.
bool stores_bypass_cache(const Problem& normal, const CpuInfo& cpu);

}  // namespace cornerturn::plan
