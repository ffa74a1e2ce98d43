// copy: source and destination are one run of bytes each.
#pragma once

#include <functional>
#include <string>

#include "core/normalise.hpp"
#include "core/problem.hpp"
#include "kernels/copy.hpp"
#include "plan/gpu/device_info.hpp"
#include "plan/gpu/estimate.hpp"

namespace cornerturn::plan::gpu {

struct Prepared;

struct CopyConfig {
  int in_flight = 1;  ///< vectors of 16 bytes a thread

  friend bool operator==(const CopyConfig&, const CopyConfig&) = default;
};

namespace copy {

const char* why_not(const Problem& normal, const DeviceInfo& device);
void configure(const Problem& normal, const Alignment& start, const DeviceInfo& device,
               const std::function<void(const CopyConfig&)>& add);
Estimate estimate(const CopyConfig& config, const Problem& normal, const Model& model);
std::string describe(const CopyConfig& config, const Problem& normal);
Prepared prepare(const CopyConfig& config, const Problem& normal);

}  // namespace copy
}  // namespace cornerturn::plan::gpu
