// In which order the blocks of a transposition take the tiles, and what those that run at the same
// time ask of the L2 cache.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "workshop/lab/picture.hpp"

namespace cornerturn::lab {

struct TiledMatrix {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  int bytes = 4;
  int tile_rows = 32;
  int tile_columns = 32;

  std::int64_t tiles_down() const { return (rows + tile_rows - 1) / tile_rows; }
  std::int64_t tiles_across() const { return (columns + tile_columns - 1) / tile_columns; }
};

enum class BlockOrder : std::uint8_t {
  input_rows,   ///< neighbouring blocks take neighbouring tiles of a row of the source
  output_rows,  ///< of a row of the destination, which is a column of the source
  groups,       ///< along the rows of the source within groups of `group` rows of tiles
  morton,       ///< along a curve through squares whose side is a power of two
  hilbert
};
/// "input", "output", "groups", "morton" or "hilbert"; throws Error for another name.
BlockOrder parse_block_order(std::string_view name);

struct TilePlace {
  std::int64_t down = 0;
  std::int64_t across = 0;
  std::int64_t block = 0;  ///< its number
};
/// The tile of each block, in the source. Blocks of a curve that lie outside of the matrix have
/// none: they end at once.
std::vector<TilePlace> block_order(const TiledMatrix& matrix, BlockOrder order, int group);

/// What the `resident` blocks from `places[first]` on touch, in lines of 128 bytes. Both matrices
/// begin at a line.
struct L2Footprint {
  std::int64_t read_lines = 0;
  std::int64_t written_lines = 0;
  std::int64_t unfinished_lines = 0;  ///< of those written: others write the rest

  std::int64_t bytes() const { return (read_lines + written_lines) * 128; }
};
L2Footprint l2_footprint(const TiledMatrix& matrix, const std::vector<TilePlace>& places,
                         std::size_t first, std::size_t resident);

/// The source in tiles, each with its block's number, in the tone of the wave in which it runs.
/// Throws Error when the matrix has no element or more than 65536 tiles, or `resident` or `group`
/// is below 1.
Picture block_picture(const TiledMatrix& matrix, BlockOrder order, int group, int resident);

}  // namespace cornerturn::lab
