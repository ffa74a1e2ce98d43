// rows: runs of 16 bytes or more that source and destination share.
#pragma once

#include <functional>
#include <string>

#include "core/normalise.hpp"
#include "core/problem.hpp"
#include "kernels/rows.hpp"
#include "plan/gpu/device_info.hpp"
#include "plan/gpu/estimate.hpp"

namespace cornerturn::plan::gpu {

struct Prepared;

struct RowsConfig {
  kernels::RowForm form = kernels::RowForm::aligned;
  int in_flight = 4;    ///< vectors of 16 bytes a thread
  int dst_granule = 1;  ///< bytes: a divisor of every row's address in the destination

  friend bool operator==(const RowsConfig&, const RowsConfig&) = default;
};

namespace rows {

const char* why_not(const Problem& normal, const DeviceInfo& device);
void configure(const Problem& normal, const Alignment& start, const DeviceInfo& device,
               const std::function<void(const RowsConfig&)>& add);
Estimate estimate(const RowsConfig& config, const Problem& normal, const Model& model);
std::string describe(const RowsConfig& config, const Problem& normal);
Prepared prepare(const RowsConfig& config, const Problem& normal);

}  // namespace rows
}  // namespace cornerturn::plan::gpu
