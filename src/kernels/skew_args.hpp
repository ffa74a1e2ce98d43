// What the two forms of skew share: arguments, and how they treat the rows of the destination.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/casts.hpp"
#include "kernels/elements.hpp"
#include "kernels/tile.hpp"
#include "kernels/unaligned.hpp"
#include "kernels/walk.hpp"

namespace cornerturn::kernels {

/// Like TileArgs.
struct SkewArgs {
  TileBands bands;
  int element_bytes = 1;
  int shape = 0;
  std::int64_t src_low = 0;   ///< bytes from `src`: what may be read begins here
  std::int64_t src_high = 0;  ///< and ends here
  const std::byte* src = nullptr;
  std::byte* dst = nullptr;
  TileMatrix matrix;
  FastDivide tiles;  ///< of a matrix
  Walk rest;
  TileModes row_modes;
  TileModes col_modes;
  ValueArgs values;
};

static_assert(offsetof(SkewArgs, src) == 48);

/// Where the rows of both sides begin.
template <bool one_mode>
struct SkewStarts {
  RowStarts<one_mode> src;
  RowStarts<one_mode> dst;

  /// Tables take so many bytes of shared memory.
  static constexpr unsigned bytes(int rows, int columns) {
    return one_mode ? 0 : static_cast<unsigned>(rows + columns) * 8;
  }
  template <class Src, class Dst, class Ctx>
  CT_DEVICE static SkewStarts make(Ctx& ctx, const SkewArgs& a, const TilePlace& tile,
                                   SharedPointer<std::byte*> tables, int rows, int columns,
                                   int threads) {
    constexpr std::int64_t src_size = sizeof(Src), dst_size = sizeof(Dst);
    SkewStarts starts{{.table = tables}, {.table = tables + rows}};
    starts.src.fill(ctx, a.matrix.row_step, a.row_modes,
                    const_cast<std::byte*>(a.src) + tile.rest.src + tile.col * src_size, tile.row,
                    rows, threads);
    starts.dst.fill(ctx, a.matrix.col_step, a.col_modes,
                    a.dst + tile.rest.dst + tile.row * dst_size, tile.col, columns, threads);
    if constexpr (!one_mode) ctx.barrier();
    return starts;
  }
};

/// Elements from an address to the next sector.
template <class T>
CT_DEVICE int elements_to_sector(const std::byte* at) {
  return static_cast<int>((0 - reinterpret_cast<std::uintptr_t>(at)) % 32) /
         static_cast<int>(sizeof(T));
}

/// Elements of a sector.
template <class T>
inline constexpr int of_sector = 32 / static_cast<int>(sizeof(T));

/// How many of a row's elements a tile writes in whole sectors: of `left` behind the first sector's
/// beginning, `most` at most.
template <class T>
CT_DEVICE int in_whole_sectors(int left, int most) {
  const int whole = left > 0 ? left / of_sector<T> * of_sector<T> : 0;
  return whole < most ? whole : most;
}

/// The elements of every row that lie in no whole sector of its own: the first tile of a row has
/// those before, the last one those behind. A lane takes an element, so that each sector gets its
/// part in one request: a partial one takes the L2 longer than a whole one, however few bytes it
/// has. `starts` are those of the destination's rows, a tile writes `down` elements of each in
/// whole sectors, from(active, m, n) is element n of row m.
template <class T, class Ctx, class Starts, class From>
CT_DEVICE void store_edges(Ctx& ctx, const SkewArgs& a, const TilePlace& tile, const Starts& starts,
                           int down, int cols, int threads, From&& from) {
  const std::uint32_t left = a.matrix.rows - tile.row;
  const int most = down + of_sector<T>;
  const bool first = tile.row == 0;
  const bool last = left <= static_cast<std::uint32_t>(most);
  if (!first && !last) return;
  const int rows = last ? static_cast<int>(left) : most;
  const int lane = thread_of(ctx) % of_sector<T>;
  CT_NO_UNROLL
  for (int m = thread_of(ctx) / of_sector<T>; m < cols; m += threads / of_sector<T>) {
    std::byte* const row = starts.at(ctx, m);
    const int before = elements_to_sector<T>(row);
    const int behind = before + in_whole_sectors<T>(rows - before, down) + lane;
    auto* const to = reinterpret_cast<T*>(row);
    const bool is_before = first && lane < before && lane < rows;
    const bool is_behind = last && behind < rows;
    ctx.store_if(is_before, to + lane, from(is_before, m, lane));
    ctx.store_if(is_behind, to + behind, from(is_behind, m, behind));
  }
}

}  // namespace cornerturn::kernels
