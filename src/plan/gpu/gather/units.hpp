// gather's units: vectors of rows of the destination whose elements lie far apart in the source,
// but next to those of other rows. One a thread, neighbours of the source one after the other.
#pragma once

#include <cstdint>

#include "core/normalise.hpp"
#include "core/problem.hpp"
#include "plan/gpu/gather.hpp"

namespace cornerturn::plan::gpu::gather {

/// Whether 32 bits hold the number of any element, and those that a thread reaches beyond the last.
bool is_countable(const Problem& normal);

/// Whether 32 bits also hold how far any element lies from the first.
bool is_near(const Problem& normal);

/// A divisor of the places where rows of the destination begin, up to 16 bytes.
std::int16_t granule_of_rows(const Problem& normal, const Alignment& start);

/// Whether units are right for the problem, however fast.
bool takes_units(const Problem& normal);

/// Whether they are candidates: right, and fast for so many bytes.
bool are_units_worth_it(const Problem& normal);

/// Units of all rows.
std::int64_t units_of(const GatherConfig& config, const Problem& normal);

Demand demand_of_units(const GatherConfig& config, const Problem& normal, const Model& model,
                       const Family::Costs& costs);

/// The kernel's arguments.
kernels::UnitPlaces unit_places(const GatherConfig& config, const Problem& normal);

}  // namespace cornerturn::plan::gpu::gather
