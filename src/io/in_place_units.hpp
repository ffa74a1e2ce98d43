// What a swap of a file does at once, where a whole group does not fit into memory.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "core/divide.hpp"
#include "core/in_place.hpp"

namespace cornerturn::io {

using in_place::SwapPass;

/// Bytes of [n][middle][n][element].
inline std::int64_t bytes_of_group(const SwapPass& pass) {
  return pass.extent * pass.middle * pass.extent * pass.element;
}

/// A unit is what changes places at once: tile (I, J) with tile (J, I) of one group, for some of
/// the middle indices, and a part of each element where it is large.
struct Units {
  Units(const SwapPass& pass, std::int64_t piece, std::int64_t extents) {
    part = std::min(pass.element, piece / 2);
    parts = ceil_div(pass.element, part);
    const std::int64_t fit = piece / 2 / part;
    side = static_cast<std::int64_t>(std::sqrt(static_cast<double>(fit)));
    side = std::clamp<std::int64_t>(side, 1, std::min(pass.extent, extents / 2));
    tiles = ceil_div(pass.extent, side);
    middle = std::clamp<std::int64_t>(piece / 2 / (side * side * part), 1, pass.middle);
    // The rows of two tiles are extents, but where whole ones follow each other.
    if (side < pass.extent || parts > 1) {
      middle = std::min(middle, std::max<std::int64_t>(extents / 2 / side, 1));
    }
    middles = ceil_div(pass.middle, middle);
  }
  std::int64_t pairs() const { return tiles * (tiles + 1) / 2; }
  std::int64_t count(const SwapPass& pass) const { return pass.groups * middles * pairs() * parts; }

  std::int64_t part, parts, side, tiles, middle, middles;
};

/// Indices [i, i + rows), [m, m + depth), [j, j + columns), and bytes [b, b + part) of each
/// element.
struct Tile {
  std::int64_t group, i, rows, m, depth, j, columns, b, part;

  Tile mirrored() const { return {group, j, columns, m, depth, i, rows, b, part}; }
  std::int64_t bytes() const { return rows * depth * columns * part; }
};

inline Tile tile_of(const SwapPass& pass, const Units& units, std::int64_t unit) {
  const auto take = [&](std::int64_t count) {
    const std::int64_t digit = unit % count;
    unit /= count;
    return digit;
  };
  const std::int64_t b = take(units.parts) * units.part;
  std::int64_t pair = take(units.pairs());
  const std::int64_t m = take(units.middles) * units.middle;
  std::int64_t row = 0;
  for (; pair >= units.tiles - row; ++row) pair -= units.tiles - row;
  const std::int64_t i = row * units.side, j = (row + pair) * units.side;
  return {unit,
          i,
          std::min(units.side, pass.extent - i),
          m,
          std::min(units.middle, pass.middle - m),
          j,
          std::min(units.side, pass.extent - j),
          b,
          std::min(units.part, pass.element - b)};
}

/// Calls visit(offset, bytes) for the contiguous runs of a tile, in their order.
template <class Visit>
void for_each_run(const SwapPass& pass, const Tile& tile, const Visit& visit) {
  const bool whole = tile.columns == pass.extent && tile.part == pass.element;
  for (std::int64_t i = tile.i; i < tile.i + tile.rows; ++i) {
    const std::int64_t rows = (tile.group * pass.extent + i) * pass.middle;
    for (std::int64_t m = tile.m; m < tile.m + tile.depth; m += whole ? tile.depth : 1) {
      const std::int64_t first = ((rows + m) * pass.extent + tile.j) * pass.element + tile.b;
      visit(first, tile.columns * tile.part * (whole ? tile.depth : 1));
    }
  }
}

}  // namespace cornerturn::io
