// gather: one element after the other, destination in order. Takes every problem.
#pragma once

#include <functional>
#include <string>

#include "core/normalise.hpp"
#include "core/problem.hpp"
#include "plan/gpu/device_info.hpp"
#include "plan/gpu/estimate.hpp"

namespace cornerturn::plan::gpu {

struct Prepared;

struct GatherConfig {
  bool single = false;  ///< one element a thread, not four

  friend bool operator==(const GatherConfig&, const GatherConfig&) = default;
};

namespace gather {

const char* why_not(const Problem& normal, const DeviceInfo& device);
void configure(const Problem& normal, const Alignment& start, const DeviceInfo& device,
               const std::function<void(const GatherConfig&)>& add);
Estimate estimate(const GatherConfig& config, const Problem& normal, const Model& model);
std::string describe(const GatherConfig& config, const Problem& normal);
Prepared prepare(const GatherConfig& config, const Problem& normal);

}  // namespace gather
}  // namespace cornerturn::plan::gpu
