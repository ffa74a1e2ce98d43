// gather: one element after the other, destination in order. Takes every problem.
#pragma once

#include <functional>
#include <string>

#include "core/normalise.hpp"
#include "core/problem.hpp"
#include "plan/gpu/device_info.hpp"

namespace cornerturn::plan::gpu {

struct Prepared;

struct GatherConfig {
  friend bool operator==(const GatherConfig&, const GatherConfig&) = default;
};

namespace gather {

const char* why_not(const Problem& normal, const DeviceInfo& device);
void configure(const Problem& normal, const Alignment& start, const DeviceInfo& device,
               const std::function<void(const GatherConfig&)>& add);
double cost_seconds(const GatherConfig& config, const Problem& normal, const DeviceInfo& device);
std::string describe(const GatherConfig& config, const Problem& normal);
Prepared prepare(const GatherConfig& config, const Problem& normal);

}  // namespace gather
}  // namespace cornerturn::plan::gpu
