// How each kernel is set up for one problem: plain aggregates, one a family.
#pragma once

#include <variant>

#include "plan/gather.hpp"
#include "plan/pack_lines.hpp"

namespace cornerturn::plan {

using Config = std::variant<GatherConfig, PackLinesConfig>;

}  // namespace cornerturn::plan
