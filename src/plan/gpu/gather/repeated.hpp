// gather's repeats: where the destination holds the source several times along a mode, an element
// is loaded once and stored in all of these places.
#pragma once

#include "core/problem.hpp"
#include "plan/gpu/gather.hpp"

namespace cornerturn::plan::gpu::gather {

/// Whether a mode of the problem repeats what rows of the destination hold.
bool can_repeat(const Problem& normal);

/// The problem without that mode: what threads load.
Problem once_of(const Problem& normal);

/// `order`: the problem with its modes in the order in which elements are taken.
Demand demand_of_repeated(const GatherConfig& config, const Problem& order, const Model& model,
                          const Family::Costs& costs);

/// The kernel's arguments.
kernels::RepeatedPlaces repeated_places(const Problem& normal);

}  // namespace cornerturn::plan::gpu::gather
