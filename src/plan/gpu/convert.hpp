// What families have in common where values change.
#pragma once

#include "core/normalise.hpp"
#include "core/problem.hpp"
#include "kernels/scaled.hpp"
#include "plan/gpu/roofline.hpp"
#include "plan/gpu/runs.hpp"

namespace cornerturn::plan::gpu {

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
double convert_lane(const Problem& normal, const SharedCosts& costs);

/// What the values become, where it is a matter of the value alone; or that they do not change.
kernels::ValueArgs value_args(const Problem& normal);

/// A scale or a bias for a kernel of rows and columns. The groups' modes, the fastest first.
kernels::GroupVector group_vector(const ModeVector& vector, const Problem& normal, const Run& rows,
                                  const Run& columns, const Run& rest);

}  // namespace cornerturn::plan::gpu
