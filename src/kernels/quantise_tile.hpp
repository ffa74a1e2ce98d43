// quantise_tile: a matrix of f32, f16 or bf16 becomes 8-bit floats that share scales, along its
// rows, along its columns (the result is transposed then), or both from one reading.
//
//   length 32    scales are powers of two, of 8 bits: for 32 neighbours, or for 32 x 32
//   length 128   scales are f32: for 128 neighbours, or for 128 x 128
//
// A block takes squares of 128 x 128, one or two below each other. A square's values stay in
// registers from their loads to both results: a lane holds V neighbours of R rows. What is largest
// in a row's block goes through shuffles, what is largest in a column's through shared memory, as
// 8 warps follow each other down a square. Values that keep their rows leave from registers, whole
// lines at a time. Those of columns are put together in shared memory.
#pragma once

#include <cstdint>
#include <type_traits>

#include "kernels/block_codes.hpp"
#include "kernels/casts.hpp"
#include "kernels/lane_vectors.hpp"
#include "kernels/lists.hpp"
#include "kernels/quantise_args.hpp"
#include "kernels/unaligned.hpp"
#include "kernels/walk.hpp"
#include "maps/tile_maps.hpp"
#include "values/blocks.hpp"

namespace cornerturn::kernels {

/// T: what the values become.
template <class S, class T, int length, bool rows, bool cols>
struct QuantiseTile {
  using Args = QuantiseTileArgs;
  using Lane = LaneVectors<S>;
  using Magnitude = Bits<S>;
  static constexpr bool packed = Lane::packed;
  static constexpr int V = Lane::V;
  static constexpr int R = Lane::R;
  static constexpr int side = 128;
  static constexpr int squares = cols ? 2 : 1;  ///< long lines of the transposed result
  static constexpr int tile_rows = squares * side;
  static constexpr int tile_cols = side;
  static constexpr int blocks = side / length;                    ///< of a line of a square
  static constexpr int across = side / V;                         ///< lanes of a row
  static constexpr int down = 32 / across;                        ///< rows of lanes in a warp
  static constexpr int of_block = length / V;                     ///< lanes of a row's block
  static constexpr int last_lane_bit = packed && !cols ? 8 : 16;  ///< of those of a row
  static constexpr int threads = 256;
  static constexpr int warps = threads / 32;
  /// Registers for more would spill, or for what needs few lie idle.
  static constexpr int min_blocks = !packed ? 2 : length != side && !cols ? 3 : 4;
  static_assert(warps * down * R == side);
  /// With two results of f32, whatever a look-up needs would spill.
  static constexpr bool takes_lists = packed || !rows || !cols;
  /// The longest runs of what is written: along rows, or along columns where these alone are.
  static constexpr bool goes_down = !rows;

  /// Where the transposed values lie.
  using ColMap = ChunkXor<side, tile_rows, 16, V>;
  /// What a value is multiplied by: of a power of two, the upper half suffices.
  using Factor = std::conditional_t<length == side, float, std::uint16_t>;
  static constexpr unsigned tile_bytes = cols ? side * tile_rows : 0;
  static constexpr unsigned most_bytes = cols ? warps * side * sizeof(S) : 0;
  static constexpr unsigned factors_at = tile_bytes + most_bytes;
  static constexpr unsigned row_scales_at =
      factors_at + (cols ? side * blocks * sizeof(Factor) : 0);
  static constexpr unsigned squares_at = row_scales_at + (rows && cols ? side * 4 : 0);
  static constexpr unsigned shared_bytes = squares_at + squares * warps * blocks * 4;

  template <class Ctx>
  CT_DEVICE static void run(Ctx& ctx, const Args& a) {
    const auto shared = ctx.template dynamic_shared<std::uint8_t>();
    const std::uint32_t slow = a.tiles_fast.quotient(ctx.block_id().x);
    const std::uint32_t fast = ctx.block_id().x - slow * a.tiles_fast.divisor;
    const std::uint32_t first = (goes_down ? fast : slow) * squares;
    const std::uint32_t col = goes_down ? slow : fast;
    CT_NO_UNROLL
    for (int s = 0; s < squares; ++s) {
      if ((first + static_cast<unsigned>(s)) * side >= a.rows) break;
      take(ctx, a,
           Square(thread_of(ctx), ctx.block_id().y, s, first + static_cast<unsigned>(s), col),
           shared);
    }
    if constexpr (cols) {
      ctx.barrier();
      store_tile(ctx, a, shared, first * side, col * side);
    }
  }

 private:
  using Shared = SharedPointer<std::uint8_t>;

  /// A square of the matrix, and what a lane has of it.
  struct Square {
    CT_DEVICE Square(int thread, std::int64_t of_matrix, int s, std::uint32_t at_row,
                     std::uint32_t at_col)
        : matrix(of_matrix),
          number(s),
          row(at_row),
          col(at_col),
          lane(thread % 32),
          warp(thread / 32) {
      // Halves of a warp have two rows of eight lanes each where columns are staged: then the
      // places of their columns lie in banks of their own.
      const int upper = packed ? (cols ? lane >> 3 & 1 : lane >> 4) : 0;
      group = !packed ? lane : cols ? (lane & 7) | (lane >> 4 << 3) : lane & 15;
      top = (warp * down + upper) * R;
      first_row = row * side + static_cast<unsigned>(top);
      first_col = col * side + static_cast<unsigned>(group * V);
    }
    std::int64_t matrix;
    int number;  ///< in its tile
    std::uint32_t row;
    std::uint32_t col;
    int lane;
    int warp;
    int group;                ///< of V columns, in the square
    int top;                  ///< the lane's first row in the square
    std::uint32_t first_row;  ///< in the matrix
    std::uint32_t first_col;
  };

  template <class Ctx>
  CT_DEVICE static void take(Ctx& ctx, const Args& a, const Square& at, Shared shared) {
    Words raw[R];
    load(ctx, a, at, raw);
    std::uint32_t of_cols[4];
    std::uint32_t of_rows[packed ? R / 2 : R];
    Lane::find_largest(raw, of_cols, of_rows);
    float factor = 0;       // of all values of the lane, if blocks have several lines
    std::uint32_t own = 0;  // else what own_factors() says of its rows
    if (a.square) {
      factor = square_factor(ctx, a, at, of_cols, cast<std::uint32_t>(shared + squares_at));
    } else {
      if constexpr (cols) share_columns(ctx, at, of_cols, cast<Magnitude>(shared + tile_bytes));
      if constexpr (rows) own = own_factors(ctx, a, at, of_rows, shared);
    }
    if constexpr (rows) store_rows(ctx, a, at, raw, own, factor);
    if constexpr (cols) {
      const auto factors = cast<Factor>(shared + factors_at);
      if (!a.square) {
        ctx.barrier();
        if (thread_of(ctx) < side) {
          scale_column(ctx, a, at, cast<Magnitude>(shared + tile_bytes), factors);
        } else if constexpr (rows) {
          const int row = thread_of(ctx) - side;
          put_line(ctx, a.along_rows, at, at.row * side + static_cast<unsigned>(row), at.col,
                   ctx.load(cast<std::uint32_t>(shared + row_scales_at) + row));
        }
        ctx.barrier();
      }
      stage_columns(ctx, a, at, raw, factors, factor, shared);
    }
  }

  // The lane's vectors. Where a list has nothing they are zeros.
  template <class Ctx>
  CT_DEVICE static void load(Ctx& ctx, const Args& a, const Square& at, Words (&raw)[R]) {
    const auto inside = [&](int r) {
      return at.first_col < a.cols && at.first_row + static_cast<unsigned>(r) < a.rows;
    };
    const std::byte* from = a.src + at.first_col * static_cast<int>(sizeof(S));
    if (takes_lists && a.lists_rows) {
      from += at.matrix * a.src_step;
      // A lane looks up one of the rows of its warp.
      constexpr int of_warp = down * R;
      const std::uint32_t row[] = {at.row * side +
                                   static_cast<unsigned>(at.warp * of_warp + at.lane % of_warp)};
      const bool there[] = {row[0] < a.rows};
      std::int64_t own[1];
      a.from.offsets(ctx, row, there, own);
      CT_UNROLL
      for (int r = 0; r < R; ++r) {
        const std::int64_t offset = ctx.shuffle(own[0], at.top % of_warp + r);
        raw[r] = ctx.load_line_if(inside(r) && offset != ListSide::nothing,
                                  reinterpret_cast<const Words*>(ListSide::behind(from, offset)));
      }
      return;
    }
    std::int64_t matrix = at.matrix * a.src_step;
    if (takes_lists && a.from.kind != ListSide::Kind::steps) {
      matrix = a.from.offset(ctx, static_cast<std::uint32_t>(at.matrix));
    }
    from = ListSide::behind(from, matrix + at.first_row * a.pitch);
    CT_UNROLL
    for (int r = 0; r < R; ++r) {
      raw[r] = ctx.load_line_if(inside(r) && matrix != ListSide::nothing,
                                reinterpret_cast<const Words*>(from + r * a.pitch));
    }
  }

  // A block's scale as it is stored, and what its values are multiplied by.
  CT_DEVICE static values::StoredScale scale_of(const Args& a, std::uint32_t amax) {
    const std::uint32_t magnitude = Lane::f32_magnitude(amax);
    if constexpr (length == side) {
      return values::f32_scale<T>(magnitude, a.rule);
    } else {
      const std::uint8_t code = values::mx_scale<T>(magnitude, a.rule);
      return {code, values::mx_inverse(code)};
    }
  }
  CT_DEVICE static std::uint32_t upper_half(float factor) {
    return values::bits_as<std::uint32_t>(factor) >> 16;
  }

  // Of the lane's block, which has as many lines as a line has values.
  template <class Ctx>
  CT_DEVICE static float square_factor(Ctx& ctx, const Args& a, const Square& at,
                                       const std::uint32_t (&of_cols)[4],
                                       SharedPointer<std::uint32_t> of_squares) {
    const auto of_warps = of_squares + at.number * warps * blocks;
    std::uint32_t most =
        Lane::larger(Lane::larger(of_cols[0], of_cols[1]), Lane::larger(of_cols[2], of_cols[3]));
    if constexpr (packed) most = Lane::larger(most, most >> 16) & 0xffffU;
    CT_UNROLL
    for (int mask = 1; mask < 32; mask *= 2) {
      if ((mask & other_blocks) == 0) {
        const std::uint32_t other = ctx.shuffle_xor(most, mask);
        most = most > other ? most : other;
      }
    }
    const int block = at.group / of_block;
    const bool first = at.group % of_block == 0;
    ctx.store_if(first && at.top % (down * R) == 0, of_warps + (at.warp * blocks + block), most);
    ctx.barrier();
    constexpr int of_one = warps / blocks;  // warps that follow each other down a block
    const int begin = at.warp / of_one * of_one;
    CT_UNROLL
    for (int w = 0; w < of_one; ++w) {
      const std::uint32_t one = ctx.load(of_warps + ((begin + w) * blocks + block));
      most = most > one ? most : one;
    }
    const values::StoredScale scale = scale_of(a, most);
    if (first && at.top % length == 0) {
      const std::uint32_t line = at.first_row / length, along = at.first_col / length;
      if constexpr (rows) put_one(ctx, a.along_rows, at, line, along, scale.bits);
      if constexpr (cols) put_one(ctx, a.along_cols, at, along, line, scale.bits);
    }
    return scale.inverse;
  }
  // Bits of a lane's number that tell blocks of a row apart.
  static constexpr int other_blocks = length == side ? 0 : (of_block | last_lane_bit);

  // A scale of a block of several lines.
  template <class Ctx>
  CT_DEVICE static void put_one(Ctx& ctx, const TileSide& to, const Square& at, std::uint32_t line,
                                std::uint32_t block, std::uint32_t bits) {
    std::byte* const place =
        to.scale_at(at.matrix, line, block / blocks) + block % blocks * to.steps.block;
    const bool inside = line < to.scale_lines && block < to.scale_blocks;
    if constexpr (length == side) {
      ctx.store_if(inside, reinterpret_cast<std::uint32_t*>(place), bits);
    } else {
      ctx.store_if(inside, reinterpret_cast<std::uint8_t*>(place), static_cast<std::uint8_t>(bits));
    }
  }
  // The scales of a line in a square: one of f32, or four codes.
  template <class Ctx>
  CT_DEVICE static void put_line(Ctx& ctx, const TileSide& to, const Square& at, std::uint32_t line,
                                 std::uint32_t square, std::uint32_t bits) {
    std::byte* const place = to.scale_at(at.matrix, line, square);
    const bool inside = line < to.scale_lines;
    const bool whole = length == side || to.words;
    ctx.store_if(inside && whole, reinterpret_cast<std::uint32_t*>(place), bits);
    if constexpr (length != side) {
      if (whole || !inside) return;
      CT_NO_UNROLL
      for (std::uint32_t b = 0; b < blocks && square * blocks + b < to.scale_blocks; ++b) {
        ctx.store(reinterpret_cast<std::uint8_t*>(place + b * to.steps.block),
                  static_cast<std::uint8_t>(bits >> 8 * b));
      }
    }
  }

  // The lane's columns, for all warps to see.
  template <class Ctx>
  CT_DEVICE static void share_columns(Ctx& ctx, const Square& at, const std::uint32_t (&of_cols)[4],
                                      SharedPointer<Magnitude> most) {
    const auto to = most + (at.warp * side + at.group * V);
    if constexpr (packed) {
      const bool upper = (at.lane & 8) != 0;
      Vec<std::uint32_t, 2> kept;
      CT_UNROLL
      for (int k = 0; k < 2; ++k) {
        const std::uint32_t given = upper ? of_cols[k] : of_cols[k + 2];
        kept[k] = Lane::larger(upper ? of_cols[k + 2] : of_cols[k], ctx.shuffle_xor(given, 8));
      }
      ctx.store(cast<Vec<std::uint32_t, 2>>(to + (upper ? 4 : 0)), kept);
    } else {
      ctx.store(cast<Words>(to), Words{of_cols[0], of_cols[1], of_cols[2], of_cols[3]});
    }
  }

  // Where the factor of a column lies: lanes read vectors of 16 bytes side by side.
  CT_DEVICE static int factor_at(int column) {
    if constexpr (length == side) {
      return column % V / 4 * (side / (V / 4)) + column / V * 4 + column % 4;
    } else {
      return column;
    }
  }

  // Of one column, a thread.
  template <class Ctx>
  CT_DEVICE static void scale_column(Ctx& ctx, const Args& a, const Square& at,
                                     SharedPointer<Magnitude> most, SharedPointer<Factor> factors) {
    const int column = thread_of(ctx);
    constexpr int of_one = warps / blocks;
    std::uint32_t bits = 0;
    CT_UNROLL
    for (int b = 0; b < blocks; ++b) {
      std::uint32_t amax = 0;
      CT_UNROLL
      for (int w = 0; w < of_one; ++w) {
        const std::uint32_t one = ctx.load(most + ((b * of_one + w) * side + column));
        amax = amax > one ? amax : one;
      }
      const values::StoredScale scale = scale_of(a, amax);
      if constexpr (length == side) {
        ctx.store(factors + factor_at(column), scale.inverse);
        bits = scale.bits;
      } else {
        ctx.store(factors + (b * side + column),
                  static_cast<std::uint16_t>(upper_half(scale.inverse)));
        bits |= scale.bits << 8 * b;
      }
    }
    put_line(ctx, a.along_cols, at, at.col * side + static_cast<unsigned>(column), at.row, bits);
  }

  // The lane's columns: their codes go to the tile.
  template <class Ctx>
  CT_DEVICE static void stage_columns(Ctx& ctx, const Args& a, const Square& at,
                                      const Words (&raw)[R], SharedPointer<Factor> factors,
                                      float of_square, Shared tile) {
    float factor[V];
    if (a.square) {
      CT_UNROLL
      for (int c = 0; c < V; ++c) factor[c] = of_square;
    } else if constexpr (length == side) {
      CT_UNROLL
      for (int c = 0; c < V; c += 4) {
        const auto four = ctx.load(cast<Vec<float, 4>>(factors + factor_at(at.group * V + c)));
        CT_UNROLL
        for (int k = 0; k < 4; ++k) factor[c + k] = four[k];
      }
    } else {
      const auto halves = ctx.load(
          cast<Vec<std::uint32_t, V / 2>>(factors + (at.top / length * side + at.group * V)));
      CT_UNROLL
      for (int c = 0; c < V; ++c) {
        const std::uint32_t half = halves[c / 2];
        factor[c] = values::bits_as<float>(c % 2 == 0 ? half << 16 : half & 0xffff0000U);
      }
    }
    // Columns of a lane have the same number xor-ed to their chunks.
    const auto to = tile + ColMap::at(at.group * V, at.number * side + at.top);
    CT_UNROLL
    for (int c = 0; c < V; ++c) {
      float x[R];
      CT_UNROLL
      for (int r = 0; r < R; ++r) x[r] = Lane::number(raw[r], c);
      ctx.store(cast<Vec<std::uint32_t, R / 4>>(to + c * tile_rows), mx_codes<T>(x, factor[c]));
    }
  }

  // What the lane's own row is multiplied by; of blocks of 32, the upper halves for two rows.
  template <int words, class Ctx>
  CT_DEVICE static std::uint32_t own_factors(Ctx& ctx, const Args& a, const Square& at,
                                             std::uint32_t (&most)[words], Shared shared) {
    if constexpr (length == side) {
      CT_UNROLL
      for (int half = words / 2; half > 0; half /= 2) Lane::halve(ctx, at.lane, most, half, half);
      if constexpr (packed) most[0] = Lane::larger(most[0], ctx.shuffle_xor(most[0], 4));
      std::uint32_t amax = Lane::larger(most[0], ctx.shuffle_xor(most[0], last_lane_bit));
      if constexpr (packed) amax = (at.lane & 4) != 0 ? amax >> 16 : amax & 0xffffU;
      const int own = packed ? (at.lane & 3) << 1 | (at.lane >> 2 & 1) : at.lane & 15;
      const values::StoredScale scale = scale_of(a, amax);
      put_row(ctx, a, at, own, scale.bits, shared);
      return values::bits_as<std::uint32_t>(scale.inverse);
    } else {
      CT_UNROLL
      for (int half = words / 2, mask = of_block / 2; mask > 0; half /= 2, mask /= 2) {
        Lane::halve(ctx, at.lane, most, half, mask);
      }
      const values::StoredScale even = scale_of(a, packed ? most[0] & 0xffffU : most[0]);
      const values::StoredScale odd = scale_of(a, packed ? most[0] >> 16 : most[words > 1 ? 1 : 0]);
      put_two_rows(ctx, a, at, even.bits | odd.bits << 8, shared);
      return upper_half(even.inverse) | upper_half(odd.inverse) << 16;
    }
  }

  // The scales of one of the lane's rows; another lane has the same ones. Where threads come
  // together anyway, those with nothing else to do store them side by side.
  template <class Ctx>
  CT_DEVICE static void put_row(Ctx& ctx, const Args& a, const Square& at, int row,
                                std::uint32_t bits, Shared shared) {
    const bool first = (at.lane & last_lane_bit) == 0;
    if constexpr (cols) {
      ctx.store_if(first, cast<std::uint32_t>(shared + row_scales_at) + (at.top + row), bits);
    } else if (first) {
      put_line(ctx, a.along_rows, at, at.first_row + static_cast<unsigned>(row), at.col, bits);
    }
  }
  // The codes of two rows of a block become words of four blocks, of one of the rows.
  template <class Ctx>
  CT_DEVICE static void put_two_rows(Ctx& ctx, const Args& a, const Square& at, std::uint32_t codes,
                                     Shared shared) {
    const bool odd = (at.lane & of_block) != 0;
    const std::uint32_t other = ctx.shuffle_xor(codes, of_block);
    const std::uint32_t two =
        odd ? byte_permute(other, codes, 0x5151) : byte_permute(codes, other, 0x4040);
    const std::uint32_t four = byte_permute(two, ctx.shuffle_xor(two, last_lane_bit), 0x5410);
    put_row(ctx, a, at, at.lane % of_block * 2 + (odd ? 1 : 0), four, shared);
  }

  // The lane's rows: their codes go where they belong. `own` is what own_factors() says.
  template <class Ctx>
  CT_DEVICE static void store_rows(Ctx& ctx, const Args& a, const Square& at, const Words (&raw)[R],
                                   std::uint32_t own, float of_square) {
    const TileSide& to = a.along_rows;
    std::byte* place = to.values_of(at.matrix) + at.first_row * to.pitch + at.first_col;
    CT_UNROLL
    for (int r = 0; r < R; ++r) {
      float factor;
      if constexpr (length == side) {
        const int owner = packed ? r >> 1 | (r & 1) << 2 : r;
        factor = values::bits_as<float>(ctx.shuffle(own, (at.lane & ~(packed ? 7 : 15)) | owner));
      } else {
        const std::uint32_t two = ctx.shuffle(own, (at.lane & ~(of_block - 1)) | r >> 1);
        factor = values::bits_as<float>(r % 2 == 0 ? two << 16 : two & 0xffff0000U);
      }
      if (a.square) factor = of_square;
      float x[V];
      CT_UNROLL
      for (int c = 0; c < V; ++c) x[c] = Lane::number(raw[r], c);
      const bool inside =
          at.first_row + static_cast<unsigned>(r) < to.lines && at.first_col < to.length;
      ctx.store_if(inside, reinterpret_cast<Vec<std::uint32_t, V / 4>*>(place),
                   mx_codes<T>(x, factor));
      place += to.pitch;
    }
  }

  // The transposed values of a tile whose first value is given.
  template <class Ctx>
  CT_DEVICE static void store_tile(Ctx& ctx, const Args& a, Shared tile, std::uint32_t row,
                                   std::uint32_t col) {
    constexpr int vectors = tile_rows / 16;
    constexpr int step = threads / vectors;  // lines
    const TileSide& to = a.along_cols;
    const int first = thread_of(ctx) / vectors;
    const int n = thread_of(ctx) % vectors * 16;
    const std::uint32_t along = row + static_cast<unsigned>(n);
    const std::uint32_t line = col + static_cast<unsigned>(first);
    std::byte* place = to.values_of(ctx.block_id().y) + line * to.pitch + along;
    CT_UNROLL
    for (int m = 0; m < side; m += step) {
      const bool inside = along < to.length && line + static_cast<unsigned>(m) < to.lines;
      ctx.store_if(inside, reinterpret_cast<Words*>(place),
                   ctx.load_if(inside, cast<Words>(tile + ColMap::at(first + m, n))));
      place += step * to.pitch;
    }
  }
};

template <class Visit>
void dispatch_bytes(const QuantiseTileArgs& a, Visit&& visit) {
  const bool rows = a.along_rows.values != nullptr, cols = a.along_cols.values != nullptr;
  const auto of_length = [&]<class S, class T, int length>() {
    if (rows && cols) {
      visit.template operator()<QuantiseTile<S, T, length, true, true>>();
    } else if (rows) {
      visit.template operator()<QuantiseTile<S, T, length, true, false>>();
    } else {
      visit.template operator()<QuantiseTile<S, T, length, false, true>>();
    }
  };
  const auto of_types = [&]<class S, class T>() {
    a.f32_scales ? of_length.template operator()<S, T, 128>()
                 : of_length.template operator()<S, T, 32>();
  };
  with_source(a.kind, [&]<class S>() {
    a.e5m2 ? of_types.template operator()<S, values::E5M2>()
           : of_types.template operator()<S, values::E4M3>();
  });
}

}  // namespace cornerturn::kernels
