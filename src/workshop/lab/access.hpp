// Who reads or writes what of a tile: an access is the list of its warp requests, each with the
// element that every lane takes. Where the elements lie is the layout's business.
//
//   rows, columns, blocks, diagonal   how warps walk over the tile (workshop/analyse/tile_walk.hpp)
//   ldmatrix, ldmatrix.x2, stmatrix   matrices of 8 rows of 16 bytes; .trans changes who gets what,
//                                     and no address
//   SM75_U32x4_LDSM_N                 the same by the names of CuTe's atoms
//   tv:((8,4),2):((1,16),8)           CuTe's (lane, step) -> index of the element in the tile
//   table:(0,0),(1,0),-,5             lane by lane: a coordinate, an index, or - for none
//
// Indices count as CuTe's do, along the first mode. A suffix :load or :store, and one of the bytes
// a lane takes, apply to one access alone: columns:store:16. Behind a tv layout the bytes need its
// strides to be written: tv:32:1:16. There and behind tables :ldmatrix and :stmatrix are the
// others.
//
// Elements that lie together are neighbours in a row, or in a column where those of a column lie
// together: an access of several elements takes such neighbours.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "maps/banks.hpp"
#include "maps/composed.hpp"
#include "workshop/analyse/tile_walk.hpp"

namespace cornerturn::lab {

/// One warp request: where in the tile each lane begins.
using LanePoints = std::array<TilePoint, warp_lanes>;

struct Access {
  std::string name;
  SharedOp op = SharedOp::load;
  int vector = 1;  ///< elements a lane, neighbours in a row
  std::vector<LanePoints> requests;
  bool down = false;  ///< the elements are neighbours in a column
};

/// What an access is when its own text does not say.
struct AccessDefaults {
  SharedOp op = SharedOp::load;
  int width = 0;  ///< bytes a lane; 0: one element
};

/// A tile as rows x columns, of elements of so many bytes.
struct TileShape {
  std::int64_t rows = 1;
  std::int64_t columns = 1;
  int bytes = 4;
  bool down = false;  ///< not the elements of a row lie together, but those of a column
};
/// More than any shared memory holds: what several elements at one place would take without an end.
inline constexpr std::int64_t most_tile_elements = std::int64_t{1} << 20;
/// A layout of three and more modes as one of rows and columns. The mode whose elements lie
/// together is the first of the columns, and those behind it are columns, too: stages, for
/// instance. Those before it are the rows, the ones that lie closer first. Where it is the first
/// mode of all, it is the rows alone. Layouts of one mode and of two stay as they are.
Layout tile_layout(const Layout& layout);
/// Of a layout of one mode (a row) or two. Throws Error for more, for other sizes of elements, and
/// for more than most_tile_elements of them.
TileShape tile_shape(const Layout& layout, int bytes);

/// Throws Error that names the access, NotationError inside a tv layout or a table.
Access parse_access(std::string_view text, const TileShape& tile, const AccessDefaults& defaults);

/// What parse_access() reads as this access: a tv layout if its lanes and requests are one, or a
/// table.
std::string access_text(const Access& access, const TileShape& tile);

/// A walk over the whole tile. Throws Error when the tile is no whole number of accesses.
Access walk_access(const TileWalk& walk, SharedOp op);

/// "load", "store", "ldmatrix" or "stmatrix".
const char* name(SharedOp op);

}  // namespace cornerturn::lab
