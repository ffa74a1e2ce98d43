// gather: one element after the other, destination in order. Takes every problem; the reference.
#pragma once

#include <string>

#include "core/problem.hpp"
#include "plan/cpu_info.hpp"

namespace cornerturn::plan {

struct GatherConfig {
  friend bool operator==(const GatherConfig&, const GatherConfig&) = default;
};

namespace gather {

/// Null: any problem will do.
const char* why_not(const Problem& normal, const CpuInfo& cpu);
GatherConfig configure(const Problem& normal, const CpuInfo& cpu);
double cost_ns(const GatherConfig& config, const Problem& normal, const CpuInfo& cpu);
std::string describe(const GatherConfig& config, const Problem& normal);

}  // namespace gather
}  // namespace cornerturn::plan
