// The sentences of an explanation, and the search for a remedy.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "workshop/lab/explain.hpp"

namespace cornerturn::lab {

/// "32 wavefronts a request where 1 would do; 1024 of them over the tile, 32 at best"
std::string verdict(const AccessExplanation& access);

/// Who meets whom in the worst request, and why; empty without conflicts.
std::string why(const AccessExplanation& access);

/// Fills in what B, M and S do here.
void name_numbers(Explanation& explanation);

/// The swizzle of the fewest bits, or else the least padding, that parts the lanes of all accesses.
std::optional<Remedy> find_remedy(const SwizzledLayout& layout, int bytes,
                                  const std::vector<Access>& accesses);

/// "0-7", "0-3, 16-19", "5"
std::string ranges(std::uint32_t mask);
/// "1 wavefront", "2 wavefronts"
std::string counted(std::int64_t count, const char* noun);

}  // namespace cornerturn::lab
