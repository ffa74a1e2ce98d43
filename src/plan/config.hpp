// How each kernel is set up for one problem: plain aggregates, one a family.
#pragma once

#include <variant>

#include "plan/gather.hpp"

namespace cornerturn::plan {

using Config = std::variant<GatherConfig>;

}  // namespace cornerturn::plan
