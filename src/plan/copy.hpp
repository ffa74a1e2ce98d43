// copy: one run on both sides, forwards or backwards.
#pragma once

#include <string>

#include "core/problem.hpp"
#include "plan/cpu_info.hpp"

namespace cornerturn::plan {

struct CopyConfig {
  bool reversed = false;      ///< the source runs backwards
  bool non_temporal = false;  ///< stores bypass the caches

  friend bool operator==(const CopyConfig&, const CopyConfig&) = default;
};

namespace copy {

const char* why_not(const Problem& normal, const CpuInfo& cpu);
CopyConfig configure(const Problem& normal, const CpuInfo& cpu);
double cost_ns(const CopyConfig& config, const Problem& normal, const CpuInfo& cpu);
std::string describe(const CopyConfig& config, const Problem& normal);

}  // namespace copy
}  // namespace cornerturn::plan
