// The access model in one place, and its findings in words.
#pragma once

#include <string>

#include "maps/banks.hpp"
#include "maps/sectors.hpp"
#include "workshop/analyse/async_copy.hpp"

namespace cornerturn {

/// `lanes 0 and 8 want words 0 and 32, both in bank 0`
std::string describe(const Collision& collision);

/// One sentence: the wavefronts, and if they are too many, why.
std::string describe(const SharedCost& cost);

/// One sentence: sectors, lines, and the share of the moved bytes that was asked for.
std::string describe(const GlobalCost& cost);

}  // namespace cornerturn
