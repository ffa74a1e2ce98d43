// pack: a box of the tensor goes through shared memory, in long pieces on both sides.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>

#include "core/normalise.hpp"
#include "core/problem.hpp"
#include "plan/gpu/device_info.hpp"
#include "plan/gpu/estimate.hpp"

namespace cornerturn::plan::gpu {

struct Prepared;

struct PackConfig {
  std::int32_t run_bytes = 0;  ///< what a run of a box should have on either side
  std::int16_t threads = 256;  ///< of a block
  bool shifted = false;        ///< runs begin anywhere

  friend bool operator==(const PackConfig&, const PackConfig&) = default;
};

struct PackConvertConfig : PackConfig {
  friend bool operator==(const PackConvertConfig&, const PackConvertConfig&) = default;
};

namespace pack {

const char* why_not(const Problem& normal, const DeviceInfo& device);
void configure(const Problem& normal, const Alignment& start, const DeviceInfo& device,
               const std::function<void(const PackConfig&)>& add);
Estimate estimate(const PackConfig& config, const Problem& normal, const Model& model);
std::string describe(const PackConfig& config, const Problem& normal);
Prepared prepare(const PackConfig& config, const Problem& normal);

}  // namespace pack

/// The same, for values that change their type.
namespace pack_convert {

const char* why_not(const Problem& normal, const DeviceInfo& device);
void configure(const Problem& normal, const Alignment& start, const DeviceInfo& device,
               const std::function<void(const PackConvertConfig&)>& add);
Estimate estimate(const PackConvertConfig& config, const Problem& normal, const Model& model);
std::string describe(const PackConvertConfig& config, const Problem& normal);
Prepared prepare(const PackConvertConfig& config, const Problem& normal);

}  // namespace pack_convert
}  // namespace cornerturn::plan::gpu
