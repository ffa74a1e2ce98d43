// What the lanes of a warp take: sectors of global memory, and the elements of a tile.
#pragma once

#include "maps/banks.hpp"
#include "maps/layout.hpp"
#include "workshop/lab/picture.hpp"

namespace cornerturn::lab {

/// "0-3, 8" of a set of lanes.
std::string lanes_text(std::uint32_t lanes);

/// The lines of 128 bytes that the warp touches, each with its four sectors and, in each, the lanes
/// that want something of it. Sectors that are moved for less than their 32 bytes are marked.
Picture sectors_picture(const WarpRequest& request);

/// The request whose lane i has element lanes(i) and the `vector` that follow. Throws Error when
/// there are more than 32 lanes, an address is negative or no multiple of the width, or the width
/// is none of 1, 2, 4, 8 and 16.
WarpRequest warp_request(const Layout& lanes, int bytes, int vector);

/// Which thread holds which element of a tile, and as which of its values: CuTe's thread-value
/// layouts, of two modes, from (thread, value) to the tile's elements, column after column. Throws
/// Error when one lies outside the tile. Elements that several hold are marked.
Picture threads_picture(const Layout& threads, std::int64_t rows, std::int64_t columns);

}  // namespace cornerturn::lab
