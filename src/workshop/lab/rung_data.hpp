// What the lab's page knows of the ladder's rungs: made once, where the emulator is, because the
// page cannot run kernels.
#pragma once

#include <optional>
#include <string>

#include "maps/composed.hpp"
#include "workshop/ladder/rung.hpp"

namespace cornerturn::lab {

/// All rungs as JSON. `rungs` has for each its name, what it shows, and `sizes`: by the bytes of an
/// element its launch, its legs, what limits it, the panels of rung_picture(), and of its tile the
/// shape, the accesses and the layout as explain() takes them, where they can be written. `panels`
/// are what the pictures refer to by number, `colours` the tones of lanes. Matrices are 512 x 512.
std::string rung_data();

/// The layout of a tile whose rows are padded or swizzled; none where no layout says it.
std::optional<SwizzledLayout> layout_of(const ladder::TileMap& tile, int bytes);

}  // namespace cornerturn::lab
