// What the rows for values that change have in common. rows_convert and gather_convert: the kernels
// of those names.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "core/normalise.hpp"
#include "core/problem.hpp"
#include "kernels/scaled.hpp"
#include "plan/gpu/device_info.hpp"
#include "plan/gpu/estimate.hpp"
#include "plan/gpu/runs.hpp"

namespace cornerturn::plan::gpu {

struct Prepared;

/// Null when an element's value is all that its conversion needs, else what else it needs.
const char* why_not_by_value(const Problem& normal);

/// Null when there are kernels compiled for just these two types that do, with vectors of scales
/// and biases, all that is asked for.
const char* why_no_cast(const Problem& normal);

/// Null when an element's value is all that its conversion needs, and the two types are among those
/// that most kernels were compiled for.
const char* why_no_common_cast(const Problem& normal);

/// Null when all elements lie at multiples of their size, as those that change their type must.
const char* why_misplaced(const Problem& normal);

/// Instructions that converting one element takes in a kernel compiled for its two types.
double convert_lane(const Problem& normal);

/// Instructions of gather_convert for an element, beside those of gather.
double gather_convert_lane(const Problem& normal, const Costs& costs);

/// What the values become, where it is a matter of the value alone.
kernels::ValueArgs value_args(const Problem& normal);

/// A scale or a bias for a kernel of rows and columns. The groups' modes, the fastest first.
kernels::GroupVector group_vector(const ModeVector& vector, const Problem& normal, const Run& rows,
                                  const Run& columns, const Run& rest);

struct RowsConvertConfig {
  friend bool operator==(const RowsConvertConfig&, const RowsConvertConfig&) = default;
};

namespace rows_convert {

const char* why_not(const Problem& normal, const DeviceInfo& device);
void configure(const Problem& normal, const Alignment& start, const DeviceInfo& device,
               const std::function<void(const RowsConvertConfig&)>& add);
Estimate estimate(const RowsConvertConfig& config, const Problem& normal, const Model& model);
std::string describe(const RowsConvertConfig& config, const Problem& normal);
Prepared prepare(const RowsConvertConfig& config, const Problem& normal);

}  // namespace rows_convert

struct GatherConvertConfig {
  friend bool operator==(const GatherConvertConfig&, const GatherConvertConfig&) = default;
};

namespace gather_convert {

const char* why_not(const Problem& normal, const DeviceInfo& device);
void configure(const Problem& normal, const Alignment& start, const DeviceInfo& device,
               const std::function<void(const GatherConvertConfig&)>& add);
Estimate estimate(const GatherConvertConfig& config, const Problem& normal, const Model& model);
std::string describe(const GatherConvertConfig& config, const Problem& normal);
Prepared prepare(const GatherConvertConfig& config, const Problem& normal);

}  // namespace gather_convert
}  // namespace cornerturn::plan::gpu
