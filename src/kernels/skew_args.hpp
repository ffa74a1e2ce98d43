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
  std::uint8_t shape = 0;
  bool prefetches = false;    ///< the sectors that rows leave in part (cut_sectors.hpp)
  bool has_edges = true;      ///< rows, or steps between them, are no whole sectors
  bool whole_rows = false;    ///< each tile has whole rows of the destination, with no gaps
                              ///< between them (skew_joints.hpp)
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

/// One element of every row, which(row) says which one, or none if that is negative: a lane takes
/// one of a sector, so that each sector gets its part in one request. A partial one takes the L2
/// longer than a whole one, however few bytes it has.
template <class T, int threads, class Ctx, class Starts, class Which, class From>
CT_DEVICE void store_singles(Ctx& ctx, const Starts& starts, int cols, Which&& which, From&& from) {
  constexpr int together = 4;
  constexpr int step = threads / of_sector<T>;
  CT_NO_UNROLL
  for (auto next = static_cast<int>(ctx.thread_id().x / of_sector<T>); next < cols;
       next += together * step) {
    T* to[together];
    T value[together];
    bool active[together];
    CT_UNROLL
    for (int k = 0; k < together; ++k) {
      const int m = next + k * step;
      const bool inside = m < cols;
      std::byte* const row = starts.at(ctx, inside ? m : next);
      const int n = which(row);
      active[k] = inside && n >= 0;
      to[k] = reinterpret_cast<T*>(row) + n;
      value[k] = from(active[k], m, n);
    }
    CT_UNROLL
    for (int k = 0; k < together; ++k) ctx.store_if(active[k], to[k], value[k]);
  }
}

/// The elements of every row that lie in no whole sector of its own: the first tile of a row has
/// those before, the last one those behind, and another sector. `starts` are those of the
/// destination's rows, a tile writes `down` elements of each in whole sectors, from(active, m, n)
/// is element n of row m.
template <class T, int threads, int down, class Ctx, class Starts, class From>
CT_DEVICE void store_edges(Ctx& ctx, const SkewArgs& a, const TilePlace& tile, const Starts& starts,
                           int cols, From&& from) {
  const std::uint32_t left = a.matrix.rows - tile.row;
  const bool last = left <= static_cast<std::uint32_t>(down + of_sector<T>);
  if (tile.row != 0 && !last) return;
  const bool has_more = last && left > static_cast<std::uint32_t>(down);
  if (!a.has_edges && !has_more && elements_to_sector<T>(starts.at(ctx, 0)) == 0) return;
  const auto lane = static_cast<int>(ctx.thread_id().x % of_sector<T>);
  if (tile.row == 0) {
    const bool inside = static_cast<std::uint32_t>(lane) < left;
    const auto before = [&](const std::byte* row) {
      return inside && lane < elements_to_sector<T>(row) ? lane : -1;
    };
    store_singles<T, threads>(ctx, starts, cols, before, from);
  }
  if (last) {
    const auto rows = static_cast<int>(left);
    const auto behind = [&](const std::byte* row) {
      const int to_sector = elements_to_sector<T>(row);
      const int n = to_sector + in_whole_sectors<T>(rows - to_sector, down) + lane;
      return n < rows ? n : -1;
    };
    store_singles<T, threads>(ctx, starts, cols, behind, from);
  }
}

}  // namespace cornerturn::kernels
