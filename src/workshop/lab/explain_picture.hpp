// What an Explanation says, drawn.
#pragma once

#include <string>
#include <vector>

#include "workshop/lab/explain.hpp"
#include "workshop/lab/picture.hpp"

namespace cornerturn::lab {

/// The wavefronts of one request over the 32 banks, a row each: in a cell are the lanes that are
/// served, and those beyond what a bank serves without a conflict are marked. `only` is one group's
/// index, or -1 for all.
Panel groups_panel(const Request& request, int only = -1);

/// Marks what a request's lanes take in a tile drawn by tile_panel().
void mark_lanes(Panel& tile, const Request& request, const AccessExplanation& access, int unit,
                int only = -1);

/// The tile before and after its swizzle with the lanes of the access that costs most, the groups
/// of each access's worst request, and the bits of an address.
Picture picture_of(const Explanation& explanation);

/// The same of a tile that is no layout of CuTe's, called `name`, beside its rows one after the
/// other.
Picture picture_of(const std::string& name, const Placement& placed, int bytes,
                   const std::vector<AccessExplanation>& accesses);

/// The same for one request of one access, and one of its groups or (-1) all: what the page shows.
/// Throws Error when there is no such access or request.
Picture picture_of(const Explanation& explanation, std::size_t access, std::size_t request,
                   int group);

}  // namespace cornerturn::lab
