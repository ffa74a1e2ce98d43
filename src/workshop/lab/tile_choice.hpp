// The ways to lay out a tile among which the solver chooses: rows one after the other, under a
// swizzle, with chunks xor-ed, rotated, with free space behind them, or in boxes of TMA.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "maps/composed.hpp"
#include "workshop/lab/access.hpp"

namespace cornerturn::lab {

enum class Family : std::uint8_t {
  plain,      ///< rows one after the other
  swizzle,    ///< the same under Swizzle<B,M,S>
  tma,        ///< boxes as wide as the span of one of TMA's swizzles, one after the other
  chunk_xor,  ///< chunk index ^ row / every, within the power of two that divides a row's chunks
  rotation,   ///< column + row / every * step, around the row
  padding     ///< rows further apart
};
const char* name(Family family);

struct TileChoice {
  Family family = Family::plain;
  TileShape tile;
  AnySwizzle swizzle;      ///< swizzle and tma, in elements
  std::int64_t box = 0;    ///< tma: columns of a box
  std::int64_t chunk = 1;  ///< chunk_xor: elements that stay together
  std::int64_t every = 1;  ///< chunk_xor and rotation: rows a step
  std::int64_t step = 0;   ///< rotation: elements
  std::int64_t pad = 0;    ///< padding: elements behind every row

  /// The offset in elements.
  std::int64_t operator()(std::int64_t row, std::int64_t column) const {
    const std::int64_t plain = row * tile.columns + column;
    switch (family) {
      case Family::swizzle:
        return swizzle(plain);
      case Family::tma:
        return swizzle(column / box * box * tile.rows + row * box + column % box);
      case Family::chunk_xor: {
        const std::int64_t to = column / chunk ^ (row / every & (xor_steps() - 1));
        return row * tile.columns + to * chunk + column % chunk;
      }
      case Family::rotation:
        return row * tile.columns + (column + row / every * step) % tile.columns;
      case Family::padding:
        return plain + row * pad;
      default:
        return plain;
    }
  }
  std::int64_t shared_bytes() const;
  /// Do `vector` neighbours of a row, from a multiple of it on, lie side by side wherever they are?
  /// False: not always. The rows are a whole number of them.
  bool keeps(int vector) const;
  /// Is the offset linear over the bits of row and column?
  bool linear() const;
  /// Integer instructions that a thread needs beside those for rows one after the other.
  int address_instructions() const;
  /// Can TMA fill it? As one box, or in boxes that make up the tile.
  bool fits_tma() const;
  /// As a CuTe layout, if it is one.
  std::optional<SwizzledLayout> layout() const;
  /// "Swizzle<3,2,6> o (64,64):(64,1)", "rows of 40, rotated by 4 every row"
  std::string text() const;

  /// The forms to paste; empty where there is none.
  struct Form {
    const char* key;      ///< "cute_cpp"
    const char* heading;  ///< "CuTe, C++"
    std::string code;
  };
  std::vector<Form> forms() const;
  std::string cute_cpp() const;
  std::string cute_python() const;
  std::string gluon() const;
  std::string cuda() const;

 private:
  std::int64_t xor_steps() const {
    const std::int64_t chunks = tile.columns / chunk;
    return chunks & -chunks;
  }
};

/// All that are searched, each once.
std::vector<TileChoice> tile_choices(const TileShape& tile, bool only_tma, bool only_padding);

}  // namespace cornerturn::lab
