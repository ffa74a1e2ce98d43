// What the two kernels of skew share: arguments, and how they treat the rows of the destination.
#pragma once

#include <cstdint>

#include "kernels/elements.hpp"
#include "kernels/tile.hpp"
#include "kernels/unaligned.hpp"
#include "kernels/walk.hpp"

namespace cornerturn::kernels {

struct SkewArgs {
  const std::byte* src = nullptr;
  std::byte* dst = nullptr;
  std::int64_t src_low = 0;   ///< bytes from `src`: what may be read begins here
  std::int64_t src_high = 0;  ///< and ends here
  int element_bytes = 1;
  int shape = 0;
  TileGroup rows;  ///< without a gap in the destination; strides of the source
  TileGroup cols;  ///< without a gap in the source; strides of the destination
  Walk rest;
};

/// Elements from an address to the next sector.
template <class T>
CT_DEVICE int elements_to_sector(const std::byte* at) {
  return static_cast<int>((0 - reinterpret_cast<std::uintptr_t>(at)) % 32) /
         static_cast<int>(sizeof(T));
}

/// Rows from the tile's first one to the last of all, `most` at most.
CT_DEVICE int rows_of_tile(const SkewArgs& a, const TilePlace& tile, int most) {
  const std::uint32_t left = a.rows.count - tile.row;
  return left < static_cast<std::uint32_t>(most) ? static_cast<int>(left) : most;
}

/// The first tile also writes what lies before the first whole sector of every row. at(m, n) is
/// where the element of row m lies in shared memory.
template <class T, int columns, class Ctx, class At>
CT_DEVICE void store_row_heads(Ctx& ctx, const SkewArgs& a, const TilePlace& tile, int threads,
                               At&& at) {
  if (tile.row != 0) return;
  constexpr int size = static_cast<int>(sizeof(T));
  constexpr int sector = 32 / size;
  std::byte* const dst = a.dst + tile.rest.dst;
  for (int i = ctx.thread_index(); i < columns * sector; i += threads) {
    const int m = i / sector;
    const int n = i % sector;
    const std::uint32_t col = tile.col + static_cast<std::uint32_t>(m);
    if (col >= a.cols.count || static_cast<std::uint32_t>(n) >= a.rows.count) continue;
    std::byte* const row = dst + a.cols.at(col);
    if (n >= elements_to_sector<T>(row)) continue;
    ctx.store(reinterpret_cast<T*>(row + n * size), ctx.load(at(m, n)));
  }
}

}  // namespace cornerturn::kernels
