// quantise_nibbles: a matrix of f32, f16 or bf16 becomes values of e2m1, two in a byte, that share
// scales, along its rows, along its columns (the result is transposed then), or both from one
// reading.
//
//   length 16    scales are E4M3, beside one of the tensor
//   length 32    scales are powers of two
//
// A warp takes 32 rows of 64 columns, whose blocks lie all inside it: what is largest goes through
// shuffles alone. A lane holds V neighbours of R rows, 64 values.
//
//   two bytes    8 columns of 8 rows     8 lanes side by side, 4 below each other
//   four bytes   4 columns of 16 rows   16 lanes side by side, 2 below each other
//
// Values that keep their rows leave from registers. Those of columns are put together in shared
// memory, and so are all scales, of which a line has a few bytes in a tile.
#pragma once

#include <cstdint>
#include <type_traits>

#include "kernels/block_codes.hpp"
#include "kernels/lane_vectors.hpp"
#include "kernels/quantise_args.hpp"
#include "kernels/walk.hpp"
#include "maps/tile_maps.hpp"
#include "values/blocks.hpp"

namespace cornerturn::kernels {

template <class S, int length, bool rows, bool cols>
struct QuantiseNibbles {
  using Args = QuantiseTileArgs;
  using Lane = LaneVectors<S>;
  static constexpr bool packed = Lane::packed;
  static constexpr int V = Lane::V;
  static constexpr int R = Lane::R;
  static constexpr int threads = 256;
  static constexpr bool takes_lists = false;
  static constexpr int warps = threads / 32;
  /// Registers for more would spill.
  static constexpr int min_blocks = packed && !(rows && cols) ? 3 : 2;
  static constexpr int part_rows = 32;  ///< of a warp
  static constexpr int part_cols = 64;
  static constexpr int tile_rows = cols ? 256 : 128;  ///< long lines of the transposed result
  static constexpr int tile_cols = 128;
  static constexpr int parts = tile_rows / part_rows * (tile_cols / part_cols);
  static_assert(parts % warps == 0);
  /// The longest runs of what is written: along rows, or along columns where these alone are.
  static constexpr bool goes_down = !rows;
  static constexpr int kept = 64 / length;  ///< lines whose scale a lane finds
  static constexpr int e4m3_codes = 128;    ///< of scales, which have no sign

  /// Where the transposed values lie, in bytes of two of a column.
  using ColMap = ChunkXor<tile_cols, tile_rows / 2, 16, V>;
  static constexpr int row_scales = tile_cols / length;  ///< of a line in a tile
  static constexpr int col_scales = tile_rows / length;
  static constexpr unsigned row_scales_at = cols ? tile_cols * tile_rows / 2 : 0;
  static constexpr unsigned col_scales_at = row_scales_at + (rows ? tile_rows * row_scales : 0);
  static constexpr unsigned inverses_at = col_scales_at + (cols ? tile_cols * col_scales : 0);
  static constexpr unsigned shared_bytes = inverses_at + (length == 16 ? e4m3_codes * 4 : 0);

  template <class Ctx>
  CT_DEVICE static void run(Ctx& ctx, const Args& a) {
    const auto shared = ctx.template dynamic_shared<std::uint8_t>();
    const std::uint32_t slow = a.tiles_fast.quotient(ctx.block_id().x);
    const std::uint32_t fast = ctx.block_id().x - slow * a.tiles_fast.divisor;
    const std::uint32_t row = (goes_down ? fast : slow) * tile_rows;
    const std::uint32_t col = (goes_down ? slow : fast) * tile_cols;
    if constexpr (length == 16) {
      // What values are multiplied by, for each scale that there may be: one division a thread.
      const int code = thread_of(ctx);
      if (code < e4m3_codes) {
        ctx.store(cast<float>(shared + inverses_at) + code,
                  values::nvfp4_inverse(static_cast<std::uint8_t>(code), a.tensor));
      }
      ctx.barrier();
    }
    CT_NO_UNROLL
    for (int s = 0; s < parts; s += warps) {
      take(ctx, a, Part(thread_of(ctx) % 32, s + thread_of(ctx) / 32, ctx.block_id().y, row, col),
           shared);
    }
    ctx.barrier();
    if constexpr (cols) {
      store_tile(ctx, a.along_cols, shared, row, col);
      store_scales<tile_cols, col_scales>(ctx, a.along_cols, col, row, shared + col_scales_at);
    }
    if constexpr (rows) {
      store_scales<tile_rows, row_scales>(ctx, a.along_rows, row, col, shared + row_scales_at);
    }
  }

 private:
  using Shared = SharedPointer<std::uint8_t>;

  /// What a lane has of the matrix.
  struct Part {
    CT_DEVICE Part(int of_warp, int number, std::int64_t of_matrix, std::uint32_t row,
                   std::uint32_t col)
        : matrix(of_matrix), lane(of_warp) {
      // Lanes that store columns at once have eight different groups, and all rows of a chunk.
      const int group = packed ? lane & 7 : (lane & 7) | (lane >> 4 << 3);
      const int below = packed ? lane >> 3 : lane >> 3 & 1;
      top = number / 2 * part_rows + below * R;
      left = number % 2 * part_cols + group * V;
      first_row = row + static_cast<unsigned>(top);
      first_col = col + static_cast<unsigned>(left);
    }
    std::int64_t matrix;
    int lane;
    int top;                  ///< the lane's first row, in the tile
    int left;                 ///< and column
    std::uint32_t first_row;  ///< in the matrix
    std::uint32_t first_col;
  };

  /// So many lanes, whose numbers are `step` apart, have parts of the blocks of the same lines,
  /// each of them `count`. One after the other halves its lines until it has `kept`.
  template <int count, int step, int lanes>
  struct Sharers {
    static_assert(count == kept * lanes);

    template <int mask = step, int words, class Ctx>
    CT_DEVICE static void share(Ctx& ctx, int lane, std::uint32_t (&most)[words]) {
      if constexpr (mask < step * lanes) {
        Lane::halve(ctx, lane, most, words * step / mask / 2, mask);
        share<2 * mask>(ctx, lane, most);
      }
    }
    CT_DEVICE static int first_kept(int lane) {
      int first = 0;
      CT_UNROLL
      for (int half = count / 2, mask = step; mask < step * lanes; half /= 2, mask *= 2) {
        if ((lane & mask) != 0) first += half;
      }
      return first;
    }
    /// Which of them has kept a line.
    CT_DEVICE static int keeper(int lane, int line) {
      int found = lane & ~(step * (lanes - 1));
      CT_UNROLL
      for (int half = count / 2, mask = step; mask < step * lanes; half /= 2, mask *= 2) {
        if ((line & half) != 0) found |= mask;
      }
      return found;
    }
  };
  using OfRows = Sharers<R, 1, length / V>;
  using OfCols = Sharers<V, 8, length / R>;

  template <class Ctx>
  CT_DEVICE static void take(Ctx& ctx, const Args& a, const Part& at, Shared shared) {
    const std::byte* const from = a.src + at.matrix * a.src_step + at.first_row * a.pitch +
                                  at.first_col * static_cast<int>(sizeof(S));
    Words raw[R];
    CT_UNROLL
    for (int r = 0; r < R; ++r) {
      const bool inside = at.first_col < a.cols && at.first_row + static_cast<unsigned>(r) < a.rows;
      raw[r] = ctx.load_line_if(inside, reinterpret_cast<const Words*>(from + r * a.pitch));
    }
    std::uint32_t of_cols[4];
    std::uint32_t of_rows[packed ? R / 2 : R];
    Lane::find_largest(raw, of_cols, of_rows);
    if constexpr (rows) {
      OfRows::share(ctx, at.lane, of_rows);
      const int line = at.top + OfRows::first_kept(at.lane);
      float own[kept];
      scale(ctx, a, of_rows, own, cast<float>(shared + inverses_at),
            shared + (row_scales_at + static_cast<unsigned>(line * row_scales + at.left / length)),
            row_scales);
      store_rows(ctx, a.along_rows, at, raw, own);
    }
    if constexpr (cols) {
      OfCols::share(ctx, at.lane, of_cols);
      const int line = at.left + OfCols::first_kept(at.lane);
      float own[kept];
      scale(ctx, a, of_cols, own, cast<float>(shared + inverses_at),
            shared + (col_scales_at + static_cast<unsigned>(line * col_scales + at.top / length)),
            col_scales);
      stage_columns(ctx, at, raw, own, shared);
    }
  }

  // The scales of the lane's blocks, one of each line: what is stored goes to `to`, and `own` is
  // what values are multiplied by.
  template <int words, class Ctx>
  CT_DEVICE static void scale(Ctx& ctx, const Args& a, const std::uint32_t (&most)[words],
                              float (&own)[kept], SharedPointer<float> inverses, Shared to,
                              int pitch) {
    CT_UNROLL
    for (int i = 0; i < kept; ++i) {
      std::uint32_t amax = packed ? most[i / 2] : most[i];
      if constexpr (packed) amax = i % 2 == 0 ? amax & 0xffffU : amax >> 16;
      const std::uint32_t magnitude = Lane::f32_magnitude(amax);
      std::uint8_t stored;
      if constexpr (length == 16) {
        stored = nvfp4_code(magnitude, a.tensor);
        own[i] = ctx.load(inverses + stored);
      } else {
        stored = values::mx_scale<values::E2M1>(magnitude, a.rule);
        own[i] = values::mx_inverse(stored);
      }
      ctx.store(to + i * pitch, stored);
    }
  }

  template <class Ctx>
  CT_DEVICE static void store_rows(Ctx& ctx, const TileSide& to, const Part& at,
                                   const Words (&raw)[R], const float (&own)[kept]) {
    std::byte* place = to.values_of(at.matrix) + at.first_row * to.pitch + at.first_col / 2;
    CT_UNROLL
    for (int r = 0; r < R; ++r) {
      const float inverse = ctx.shuffle(own[r % kept], OfRows::keeper(at.lane, r));
      float x[V];
      CT_UNROLL
      for (int c = 0; c < V; ++c) x[c] = Lane::number(raw[r], c);
      using Codes = std::conditional_t<V == 8, std::uint32_t, std::uint16_t>;
      const bool inside =
          at.first_row + static_cast<unsigned>(r) < to.lines && at.first_col < to.length;
      ctx.store_if(inside, reinterpret_cast<Codes*>(place),
                   static_cast<Codes>(e2m1_codes(x, inverse)));
      place += to.pitch;
    }
  }

  // The lane's columns: their codes go to the tile.
  template <class Ctx>
  CT_DEVICE static void stage_columns(Ctx& ctx, const Part& at, const Words (&raw)[R],
                                      const float (&own)[kept], Shared tile) {
    CT_UNROLL
    for (int c = 0; c < V; ++c) {
      const float inverse = ctx.shuffle(own[c % kept], OfCols::keeper(at.lane, c));
      Vec<std::uint32_t, R / 8> codes;
      CT_UNROLL
      for (int k = 0; k < R / 8; ++k) {
        float x[8];
        CT_UNROLL
        for (int r = 0; r < 8; ++r) x[r] = Lane::number(raw[8 * k + r], c);
        codes[k] = e2m1_codes(x, inverse);
      }
      ctx.store(cast<Vec<std::uint32_t, R / 8>>(tile + ColMap::at(at.left + c, at.top / 2)), codes);
    }
  }

  // The transposed values of a tile whose first value is given. A line may end with eight bytes.
  template <class Ctx>
  CT_DEVICE static void store_tile(Ctx& ctx, const TileSide& to, Shared tile, std::uint32_t row,
                                   std::uint32_t col) {
    constexpr int vectors = tile_rows / 32;
    constexpr int step = threads / vectors;  // lines
    const int first = thread_of(ctx) / vectors;
    const int n = thread_of(ctx) % vectors * 16;
    const std::uint32_t along = row / 2 + static_cast<unsigned>(n);
    const std::uint32_t bytes = to.length / 2;
    std::byte* place =
        to.values_of(ctx.block_id().y) + (col + static_cast<unsigned>(first)) * to.pitch + along;
    CT_UNROLL
    for (int m = 0; m < tile_cols; m += step) {
      const bool inside = col + static_cast<unsigned>(first + m) < to.lines && along < bytes;
      const bool whole = inside && along + 16 <= bytes;
      const Words v = ctx.load_if(inside, cast<Words>(tile + ColMap::at(first + m, n)));
      ctx.store_if(whole, reinterpret_cast<Words*>(place), v);
      ctx.store_if(inside && !whole, reinterpret_cast<Vec<std::uint32_t, 2>*>(place), {v[0], v[1]});
      place += step * to.pitch;
    }
  }

  // The scales of all lines of a tile, `count` bytes each, in fours; zeros where there are none.
  template <int lines, int count, class Ctx>
  CT_DEVICE static void store_scales(Ctx& ctx, const TileSide& to, std::uint32_t line0,
                                     std::uint32_t along0, Shared scales) {
    constexpr int fours = count / 4;
    const bool beside = !to.words && to.steps.line < to.steps.block;
    CT_UNROLL
    for (int i = thread_of(ctx); i < lines * fours; i += threads) {
      // Neighbours store what lies next to each other: words of four lines in tiles, lines or
      // words of a line.
      int n = i / fours, four = i % fours;
      if (to.tiles || beside) {
        four = i / lines;
        n = i % lines;
        if (to.tiles) n = n / 128 * 128 + n % 4 * 32 + n % 128 / 4;
      }
      const std::uint32_t line = line0 + static_cast<unsigned>(n);
      const std::uint32_t block = along0 / length + static_cast<unsigned>(4 * four);
      if (line >= to.scale_lines || block >= to.scale_blocks) continue;
      const std::uint32_t left = to.scale_blocks - block;
      std::uint32_t word = ctx.load(cast<std::uint32_t>(scales + (n * count + 4 * four)));
      if (left < 4) word &= (1U << 8 * left) - 1;
      if (line >= to.lines) word = 0;
      std::byte* const place = to.scale_at(ctx.block_id().y, line, block / 4);
      if (to.words) {
        ctx.store(reinterpret_cast<std::uint32_t*>(place), word);
      } else {
        CT_NO_UNROLL
        for (unsigned b = 0; b < 4 && b < left; ++b) {
          ctx.store(reinterpret_cast<std::uint8_t*>(place + b * to.steps.block),
                    static_cast<std::uint8_t>(word >> 8 * b));
        }
      }
    }
  }
};

template <class Visit>
void dispatch_nibbles(const QuantiseTileArgs& a, Visit&& visit) {
  const bool rows = a.along_rows.values != nullptr, cols = a.along_cols.values != nullptr;
  const auto of_length = [&]<class S, int length>() {
    if (rows && cols) {
      visit.template operator()<QuantiseNibbles<S, length, true, true>>();
    } else if (rows) {
      visit.template operator()<QuantiseNibbles<S, length, true, false>>();
    } else {
      visit.template operator()<QuantiseNibbles<S, length, false, true>>();
    }
  };
  with_source(a.kind, [&]<class S>() {
    a.e4m3_scales ? of_length.template operator()<S, 16>() : of_length.template operator()<S, 32>();
  });
}

}  // namespace cornerturn::kernels
