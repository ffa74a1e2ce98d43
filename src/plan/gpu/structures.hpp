// structures: arrays of structures of a few elements to one array a member, and back; also what
// lies in every second, third, ... element. structures_convert: to planes, of values that change
// their type.
#pragma once

#include <functional>
#include <string>

#include "core/normalise.hpp"
#include "core/problem.hpp"
#include "kernels/structures.hpp"
#include "plan/gpu/device_info.hpp"
#include "plan/gpu/estimate.hpp"

namespace cornerturn::plan::gpu {

struct Prepared;

struct StructuresConfig {
  bool to_planes = true;
  bool shifted = false;  ///< the destination's runs do not all begin at multiples of 16 bytes
  bool whole = false;    ///< from planes, and both sides are made of whole vectors
  int length = 2;        ///< of a structure, in elements
  int elements = 0;      ///< the mode that runs over the structures
  int members = -1;      ///< the mode that runs over their members; -1: only one is moved

  friend bool operator==(const StructuresConfig&, const StructuresConfig&) = default;
};

struct StructuresConvertConfig : StructuresConfig {
  friend bool operator==(const StructuresConvertConfig&, const StructuresConvertConfig&) = default;
};

namespace structures {

const char* why_not(const Problem& normal, const DeviceInfo& device);
void configure(const Problem& normal, const Alignment& start, const DeviceInfo& device,
               const std::function<void(const StructuresConfig&)>& add);
Estimate estimate(const StructuresConfig& config, const Problem& normal, const Model& model);
std::string describe(const StructuresConfig& config, const Problem& normal);
Prepared prepare(const StructuresConfig& config, const Problem& normal);

}  // namespace structures

namespace structures_convert {

const char* why_not(const Problem& normal, const DeviceInfo& device);
void configure(const Problem& normal, const Alignment& start, const DeviceInfo& device,
               const std::function<void(const StructuresConvertConfig&)>& add);
Estimate estimate(const StructuresConvertConfig& config, const Problem& normal, const Model& model);
std::string describe(const StructuresConvertConfig& config, const Problem& normal);
Prepared prepare(const StructuresConvertConfig& config, const Problem& normal);

}  // namespace structures_convert
}  // namespace cornerturn::plan::gpu
