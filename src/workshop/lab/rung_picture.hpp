// The way of a rung's data: what one warp's lanes take of the source, where that lies in shared
// memory and in which banks, what they take of it there, and where it goes.
#pragma once

#include <cstdint>
#include <optional>

#include "workshop/lab/picture.hpp"
#include "workshop/ladder/emulate.hpp"

namespace cornerturn::lab {

/// Row and column of a tile in the grid of the source's tiles.
struct BlockPlace {
  std::int64_t row = 0;
  std::int64_t column = 0;
};

/// The first request of the first warp on each leg, from the emulator, or from the layouts of one
/// of CuTe's rungs; of the copy engine the first 32 pieces of 16 bytes of a box. Between filling
/// the tile and reading it stands the tile itself. A lane has one colour in all panels. With
/// `block` it is the warp of the block that has this tile, and where the tile goes. Throws Error
/// where the rung's blocks have no tiles, and where there is no such tile.
Picture rung_picture(const ladder::Rung& rung, const ladder::Prediction& run,
                     std::optional<BlockPlace> block = {});

/// The source's tile that a block has; none where a block has a piece of a row of all elements.
std::optional<BlockPlace> tile_of_block(const ladder::Rung& rung, int bytes);

}  // namespace cornerturn::lab
