// What the two forms of skew share: arguments, and how they treat the rows of the destination.
#pragma once

#include <cstdint>

#include "kernels/casts.hpp"
#include "kernels/elements.hpp"
#include "kernels/tile.hpp"
#include "kernels/unaligned.hpp"
#include "kernels/walk.hpp"

namespace cornerturn::kernels {

/// In the order of TileArgs.
struct SkewArgs {
  const std::byte* src = nullptr;
  std::byte* dst = nullptr;
  std::int64_t src_low = 0;   ///< bytes from `src`: what may be read begins here
  std::int64_t src_high = 0;  ///< and ends here
  TileGroup rows;             ///< without a gap in the destination; strides of the source
  TileGroup cols;             ///< without a gap in the source; strides of the destination
  TileOrder order;
  Walk rest;
  TileOrder::Bands bands;
  TileModes row_modes;
  TileModes col_modes;
  int element_bytes = 1;
  int shape = 0;
  ValueArgs values;
};

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
    starts.src.fill(ctx, a.rows, a.row_modes,
                    const_cast<std::byte*>(a.src) + tile.rest.src + tile.col * src_size, tile.row,
                    rows, threads);
    starts.dst.fill(ctx, a.cols, a.col_modes, a.dst + tile.rest.dst + tile.row * dst_size, tile.col,
                    columns, threads);
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

/// The first tile also writes what lies before the first whole sector of every row. `starts` are
/// those of the destination's rows, from(m, n) is where the element of row m lies in shared memory.
template <class T, class Ctx, class Starts, class From>
CT_DEVICE void store_row_heads(Ctx& ctx, const TilePlace& tile, const Starts& starts, int rows,
                               int cols, int threads, From&& from) {
  if (tile.row != 0) return;
  constexpr int size = static_cast<int>(sizeof(T));
  constexpr int sector = 32 / size;
  for (int i = thread_of(ctx); i < cols * sector; i += threads) {
    const int m = i / sector;
    const int n = i % sector;
    std::byte* const row = starts.at(ctx, m);
    if (n >= rows || n >= elements_to_sector<T>(row)) continue;
    ctx.store(reinterpret_cast<T*>(row + n * size), ctx.load(from(m, n)));
  }
}

}  // namespace cornerturn::kernels
