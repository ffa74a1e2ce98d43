// The way of a rung's data: what one warp's lanes take of the source, where that lies in shared
// memory and in which banks, what they take of it there, and where it goes.
#pragma once

#include "workshop/lab/picture.hpp"
#include "workshop/ladder/emulate.hpp"

namespace cornerturn::lab {

/// The first request of the first warp on each leg, from the emulator, or from the layouts of one
/// of CuTe's rungs; of the copy engine the first 32 pieces of 16 bytes of a box. A lane has one
/// colour in all panels.
Picture rung_picture(const ladder::Rung& rung, const ladder::Prediction& run);

}  // namespace cornerturn::lab
