// boxes: runs of 16 bytes or more that source and destination share, neighbours of both sides
// together.
#pragma once

#include <functional>
#include <string>

#include "core/normalise.hpp"
#include "core/problem.hpp"
#include "kernels/boxes.hpp"
#include "plan/gpu/device_info.hpp"
#include "plan/gpu/estimate.hpp"

namespace cornerturn::plan::gpu {

struct Prepared;

struct BoxesConfig {
  int in_flight = 4;       ///< vectors of 16 bytes a thread
  int threads = 256;       ///< a block
  int dst_granule = 1;     ///< bytes: a divisor of every row's address in the destination
  int dst_mode = -1;       ///< rows along it are neighbours in the destination
  int src_mode = -1;       ///< and in the source; -1: the same ones, or none
  std::int64_t width = 1;  ///< vectors of a row in a box
  int dst_rows = 1;        ///< rows of a box along either
  int src_rows = 1;

  friend bool operator==(const BoxesConfig&, const BoxesConfig&) = default;
};

namespace boxes {

const char* why_not(const Problem& normal, const DeviceInfo& device);
void configure(const Problem& normal, const Alignment& start, const DeviceInfo& device,
               const std::function<void(const BoxesConfig&)>& add);
Estimate estimate(const BoxesConfig& config, const Problem& normal, const Model& model);
std::string describe(const BoxesConfig& config, const Problem& normal);
Prepared prepare(const BoxesConfig& config, const Problem& normal);

}  // namespace boxes
}  // namespace cornerturn::plan::gpu
