// How the lanes of the warps walk over a tile of rows x columns elements, V of a row an access, or
// V of a column where those lie together.
#pragma once

#include <cstdint>
#include <string>

#include "maps/banks.hpp"
#include "maps/proofs.hpp"

namespace cornerturn {

enum class LayoutWalk : std::uint8_t {
  rows,      ///< lanes take neighbouring accesses along the rows
  columns,   ///< lane i takes row i; then the next V columns
  blocks,    ///< lane i takes row V i, as V x V register blocks do; then the next V columns
  diagonal,  ///< as blocks, but of 8 x 8 blocks quarter-warp q takes (k, k ^ q), k = 0 .. 7
  matrices   ///< as ldmatrix: eight lanes the rows of an 8 x V matrix, one below the other in pairs
};

/// "rows", "columns", "blocks", "diagonal" or "ldmatrix".
const char* name(LayoutWalk walk);

struct TileWalk {
  LayoutWalk kind = LayoutWalk::rows;
  std::int64_t rows = 1;
  std::int64_t columns = 1;
  int vector = 1;     ///< elements an access
  int matrices = 4;   ///< ldmatrix: of one request, 1, 2 or 4
  bool down = false;  ///< an access takes neighbours of a column, and so on for blocks and matrices

  /// Not empty: the tile is no whole number of accesses.
  std::string why_not() const;
  std::int64_t requests() const;
  /// The first element that the lane takes.
  TilePoint at(std::int64_t request, int lane) const;

 private:
  // Rows that one lane takes, one access each.
  int steps() const {
    return kind == LayoutWalk::blocks || kind == LayoutWalk::diagonal ? vector : 1;
  }
  // The tile as it is where accesses go down: its columns are rows.
  std::int64_t height() const { return down ? columns : rows; }
  std::int64_t width() const { return down ? rows : columns; }
  int matrix_rows() const { return matrices == 1 ? 8 : 16; }
  int matrix_columns() const { return matrices == 4 ? 2 : 1; }  // in vectors
};

}  // namespace cornerturn
