// strided: the destination's fastest mode is packed, the source takes even steps along it.
#pragma once

#include <string>

#include "core/problem.hpp"
#include "plan/cpu_info.hpp"

namespace cornerturn::plan {

struct StridedConfig {
  std::int64_t chunk = 1;     ///< elements of the fastest mode done at a time
  bool pairs = false;         ///< every second element: vectors are taken apart in registers
  bool non_temporal = false;  ///< stores bypass the caches

  friend bool operator==(const StridedConfig&, const StridedConfig&) = default;
};

namespace strided {

const char* why_not(const Problem& normal, const CpuInfo& cpu);
StridedConfig configure(const Problem& normal, const CpuInfo& cpu);
double cost_ns(const StridedConfig& config, const Problem& normal, const CpuInfo& cpu);
std::string describe(const StridedConfig& config, const Problem& normal);

}  // namespace strided
}  // namespace cornerturn::plan
