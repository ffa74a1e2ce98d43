// Conversions from and to types whose bytes stand in the other order than the machine's.
#pragma once

#include "cpu/convert_run.hpp"

namespace cornerturn::cpu {

/// Chunks of a run are swapped in the first-level cache on their way to and from the function that
/// converts the two kinds. Where nothing but the order differs, they are only swapped.
void convert_swapped(const Problem& problem, const ConvertRun& run);

}  // namespace cornerturn::cpu
