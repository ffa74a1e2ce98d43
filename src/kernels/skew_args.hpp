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

/// The part of a row that lies in one of its sectors: elements [first, last). Element `sector`
/// would be the sector's first one.
struct Edge {
  int sector;
  int first;
  int last;
};

/// A part of every row, which(row) says which one. A lane takes a word of a sector, so that each
/// sector gets its words in one request: a partial one takes the L2 longer than a whole one,
/// however few bytes it has. What is no whole word leaves as single elements, by lanes of the same
/// sector. from(active, m, n) is element n of row m, word_from the word that begins with it.
template <class T, int threads, class Ctx, class Starts, class Which, class From, class WordFrom>
CT_DEVICE void store_parts_of_sectors(Ctx& ctx, const Starts& starts, int cols, Which&& which,
                                      From&& from, WordFrom&& word_from) {
  constexpr int W = sizeof(T) < 4 ? 4 / static_cast<int>(sizeof(T)) : 1;  // elements of a word
  constexpr int lanes = of_sector<T> / W;
  constexpr int together = W > 1 ? 2 : 4;  // few instructions: they are in no cache yet
  constexpr int step = threads / lanes;
  const auto lane = static_cast<int>(ctx.thread_id().x % lanes);
  CT_NO_UNROLL
  for (auto next = static_cast<int>(ctx.thread_id().x / lanes); next < cols;
       next += together * step) {
    using Word = std::conditional_t<W == 1, T, std::uint32_t>;
    T* to[together];
    Word word[together];
    bool has_word[together];
    int single[together];
    T value[together];
    bool has_single[together];
    CT_UNROLL
    for (int k = 0; k < together; ++k) {
      const int m = next + k * step;
      const bool inside = m < cols;
      std::byte* const row = starts.at(ctx, inside ? m : next);
      const Edge edge = which(row);
      const int n = edge.sector + lane * W;
      to[k] = reinterpret_cast<T*>(row) + n;
      has_word[k] = inside && n >= edge.first && n + W <= edge.last;
      word[k] = word_from(has_word[k], m, has_word[k] ? n : 0);
      if constexpr (W > 1) {
        // The elements before the first whole word, and those behind the last one.
        const int begin = edge.sector + (edge.first - edge.sector + W - 1) / W * W;
        const int end = edge.sector + (edge.last - edge.sector) / W * W;
        const int one = lane < W ? edge.first + lane : (begin > end ? begin : end) + lane - W;
        const int limit = lane < W && begin < edge.last ? begin : edge.last;
        has_single[k] = inside && one < limit;
        single[k] = one - n;  // from `to`
        value[k] = from(has_single[k], m, has_single[k] ? one : 0);
      }
    }
    CT_UNROLL
    for (int k = 0; k < together; ++k) {
      ctx.store_if(has_word[k], reinterpret_cast<Word*>(to[k]), word[k]);
      if constexpr (W > 1) ctx.store_if(has_single[k], to[k] + single[k], value[k]);
    }
  }
}

/// The word that begins with element n of row m, put together of elements: from(active, m, n).
template <class T, class From>
CT_DEVICE auto word_of_elements(From&& from, bool active, int m, int n) {
  if constexpr (sizeof(T) >= 4) {
    return from(active, m, n);
  } else {
    using Bits = std::conditional_t<sizeof(T) == 1, std::uint8_t, std::uint16_t>;
    std::uint32_t word = 0;
    CT_UNROLL
    for (int k = 0; k < 4 / static_cast<int>(sizeof(T)); ++k) {
      const auto bits = __builtin_bit_cast(Bits, from(active, m, n + k));
      word |= std::uint32_t{bits} << 8 * static_cast<int>(sizeof(T)) * k;
    }
    return word;
  }
}

/// The elements of every row that lie in no whole sector of its own: the first tile of a row has
/// those before, the last one those behind, and another sector. `starts` are those of the
/// destination's rows, a tile writes `down` elements of each in whole sectors, from and word_from
/// as above.
template <class T, int threads, int down, class Ctx, class Starts, class From, class WordFrom>
CT_DEVICE void store_edges(Ctx& ctx, const SkewArgs& a, const TilePlace& tile, const Starts& starts,
                           int cols, From&& from, WordFrom&& word_from) {
  const std::uint32_t left = a.matrix.rows - tile.row;
  const bool last = left <= static_cast<std::uint32_t>(down + of_sector<T>);
  if (tile.row != 0 && !last) return;
  const bool has_more = last && left > static_cast<std::uint32_t>(down);
  if (!a.has_edges && !has_more && elements_to_sector<T>(starts.at(ctx, 0)) == 0) return;
  const int rows = last ? static_cast<int>(left) : of_sector<T>;  // as far as it matters
  if (tile.row == 0) {
    const auto before = [&](const std::byte* row) {
      const int to_sector = elements_to_sector<T>(row);
      return Edge{to_sector - of_sector<T>, 0, rows < to_sector ? rows : to_sector};
    };
    store_parts_of_sectors<T, threads>(ctx, starts, cols, before, from, word_from);
  }
  if (last) {
    const auto behind = [&](const std::byte* row) {
      const int to_sector = elements_to_sector<T>(row);
      const int n = to_sector + in_whole_sectors<T>(rows - to_sector, down);
      return Edge{n, n, rows};
    };
    store_parts_of_sectors<T, threads>(ctx, starts, cols, behind, from, word_from);
  }
}

}  // namespace cornerturn::kernels
