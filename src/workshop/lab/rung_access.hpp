// The shared accesses of the ladder's rungs, so that other layouts can be tried under them.
#pragma once

#include <string_view>
#include <vector>

#include "workshop/lab/access.hpp"

namespace cornerturn::lab {

/// What the rung's loads and stores of shared memory take of one tile: an access for each place in
/// its source. The rung runs in the emulator; of CuTe's rungs the layouts are known. Throws Error
/// for an unknown rung, for one whose tile is another one than `tile` or holds no whole elements,
/// and in a build without the emulator.
std::vector<Access> rung_accesses(std::string_view rung, const TileShape& tile);

/// The accesses of "rung:NAME", or the one that parse_access() reads.
inline std::vector<Access> parse_accesses(std::string_view text, const TileShape& tile,
                                          const AccessDefaults& defaults) {
  if (text.substr(0, 5) == "rung:") return rung_accesses(text.substr(5), tile);
  return {parse_access(text, tile, defaults)};
}

}  // namespace cornerturn::lab
