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
  std::int16_t shape = 0;
  bool has_edges = true;      ///< rows of the destination may be apart, or long, no whole sectors
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
/// those before, the last one those behind, and another sector. A lane takes an element, so that
/// each sector gets its part in one request: a partial one takes the L2 longer than a whole one,
/// however few bytes it has. `starts` are those of the destination's rows, a tile writes `down`
/// elements of each in whole sectors, from(active, m, n) is element n of row m.
template <class T, class Ctx, class Starts, class From>
CT_DEVICE void store_edges(Ctx& ctx, const SkewArgs& a, const TilePlace& tile, const Starts& starts,
                           int down, int cols, int threads, From&& from) {
  constexpr int together = 4;
  const std::uint32_t left = a.matrix.rows - tile.row;
  const int most = down + of_sector<T>;
  const bool first = tile.row == 0;
  const bool last = left <= static_cast<std::uint32_t>(most);
  if (!first && !last) return;
  const bool has_more = last && left > static_cast<std::uint32_t>(down);
  if (!a.has_edges && !has_more && elements_to_sector<T>(starts.at(ctx, 0)) == 0) return;
  const int rows = last ? static_cast<int>(left) : most;
  const auto lane = static_cast<int>(ctx.thread_id().x % of_sector<T>);
  const auto row = static_cast<int>(ctx.thread_id().x / of_sector<T>);
  const int step = threads / of_sector<T>;
  CT_NO_UNROLL
  for (int next = row; next < cols; next += together * step) {
    T* to[together];
    bool is_before[together], is_behind[together];
    T before[together], behind[together];
    int at[together];
    CT_UNROLL
    for (int k = 0; k < together; ++k) {
      const int m = next + k * step;
      const bool inside = m < cols;
      to[k] = reinterpret_cast<T*>(starts.at(ctx, inside ? m : row));
      const int to_sector = elements_to_sector<T>(reinterpret_cast<std::byte*>(to[k]));
      at[k] = to_sector + in_whole_sectors<T>(rows - to_sector, down) + lane;
      is_before[k] = inside && first && lane < to_sector && lane < rows;
      is_behind[k] = inside && last && at[k] < rows;
      before[k] = from(is_before[k], m, lane);
      behind[k] = from(is_behind[k], m, at[k]);
    }
    CT_UNROLL
    for (int k = 0; k < together; ++k) {
      ctx.store_if(is_before[k], to[k] + lane, before[k]);
      ctx.store_if(is_behind[k], to[k] + at[k], behind[k]);
    }
  }
}

}  // namespace cornerturn::kernels
