// quantise: a matrix becomes blocks of 32 values that share a scale, along its rows, along its
// columns (the result is transposed then), or both from one reading. A warp takes 32 x 32 elements:
// lanes hold whole vectors of a few rows, so that the largest magnitudes of rows and of columns are
// found by shuffles. Arrays that are no such matrices are for blocks.hpp.
//
//   MXFP8  values in an array of the matrix's shape, scales in another, a byte a block
//   q8_0   blocks of 34 bytes, one after the other
#pragma once

#include <cstdint>
#include <type_traits>

#include "kernels/block_codes.hpp"
#include "kernels/casts.hpp"
#include "kernels/unaligned.hpp"
#include "kernels/walk.hpp"
#include "maps/tile_maps.hpp"
#include "values/blocks.hpp"

namespace cornerturn::kernels {

/// Blocks of 32 neighbours along one mode. Rows of them are packed; so are the scales.
struct QuantiseSide {
  std::byte* values = nullptr;  ///< null: not wanted
  std::byte* scales = nullptr;  ///< of MXFP8
  std::int64_t value_step = 0;  ///< from one matrix to the next
  std::int64_t scale_step = 0;

  CT_DEVICE QuantiseSide of(std::int64_t matrix) const {
    return {values + matrix * value_step, scales + matrix * scale_step};
  }
};

struct QuantiseArgs {
  const std::byte* src = nullptr;
  std::int64_t pitch = 0;     ///< bytes from one row to the next
  std::int64_t src_step = 0;  ///< from one matrix to the next
  std::uint32_t matrices = 1;
  std::uint32_t rows = 0;  ///< multiples of 32
  std::uint32_t cols = 0;
  Kind kind = Kind::f32;  ///< of the source: f32, f16 or bf16
  BlockFormat format = BlockFormat::mxfp8_e4m3;
  values::BlockScale rule = values::BlockScale::floor;
  FastDivide tiles_down;    ///< blocks that follow each other go down
  QuantiseSide along_rows;  ///< a result of the matrix's own shape
  QuantiseSide along_cols;  ///< the transposed one
};

/// 32 x 32 elements in a warp: V neighbours of R rows in each lane.
template <class S>
struct WarpBlock {
  static constexpr int V = 16 / static_cast<int>(sizeof(S));
  static constexpr int across = 32 / V;
  static constexpr int R = across;  ///< 32 rows over the 32 / across groups of lanes

  Words raw[R];

  template <class Ctx>
  CT_DEVICE void load(Ctx& ctx, const std::byte* first, std::int64_t pitch) {
    const int lane = thread_of(ctx) % 32;
    const std::byte* from = first + lane / across * R * pitch + lane % across * 16;
    CT_UNROLL
    for (int r = 0; r < R; ++r) {
      raw[r] = ctx.load_line_if(true, reinterpret_cast<const Words*>(from + r * pitch));
    }
  }
  CT_DEVICE float at(int r, int c) const { return number_of<S>(element_of<Bits<S>>(raw[r], c)); }

  /// The largest magnitude over all 32 columns of the lane's own row, as f32: of the R rows of its
  /// group the one whose number is the lane's place in the group.
  template <class Ctx>
  CT_DEVICE std::uint32_t of_row(Ctx& ctx) const {
    std::uint32_t most[packed ? R / 2 : R];
    if constexpr (packed) {
      CT_UNROLL
      for (int r = 0; r < R; r += 2) {
        const std::uint32_t a = over_words(raw[r]), b = over_words(raw[r + 1]);
        most[r / 2] = larger(byte_permute(a, b, 0x5410), byte_permute(a, b, 0x7632));
      }
    } else {
      CT_UNROLL
      for (int r = 0; r < R; ++r) most[r] = over_words(raw[r]);
    }
    return own<1>(ctx, most);
  }
  /// And over all 32 rows of its own column: of the V columns of its vector the one whose number is
  /// that of its group.
  template <class Ctx>
  CT_DEVICE std::uint32_t of_column(Ctx& ctx) const {
    std::uint32_t most[4];
    CT_UNROLL
    for (int k = 0; k < 4; ++k) {
      most[k] = magnitudes(raw[0][k]);
      CT_UNROLL
      for (int r = 1; r < R; ++r) most[k] = larger(most[k], magnitudes(raw[r][k]));
    }
    return own<across>(ctx, most);
  }

 private:
  static constexpr bool packed = sizeof(S) == 2;  ///< two values in a word

  // Magnitudes, NaNs above all, compare like whole numbers.
  CT_DEVICE static std::uint32_t magnitudes(std::uint32_t word) {
    return word & (packed ? 0x7fff7fffU : 0x7fffffffU);
  }
  CT_DEVICE static std::uint32_t larger(std::uint32_t a, std::uint32_t b) {
    if constexpr (packed) {
      return larger_halves(a, b);
    } else {
      return a > b ? a : b;
    }
  }
  CT_DEVICE static std::uint32_t over_words(const Words& w) {
    return larger(larger(magnitudes(w[0]), magnitudes(w[1])),
                  larger(magnitudes(w[2]), magnitudes(w[3])));
  }

  // Lanes `step` apart have magnitudes of the same lines, one or two in a word, as many lanes as
  // lines. Each exchange halves the lines of a lane and doubles the lanes that were looked at; in
  // the end every lane has the largest of one line.
  template <int step, int words, class Ctx>
  CT_DEVICE static std::uint32_t own(Ctx& ctx, std::uint32_t (&most)[words]) {
    const int lane = thread_of(ctx);
    CT_UNROLL
    for (int half = words / 2; half > 0; half /= 2) {
      const int mask = half * step * (packed ? 2 : 1);
      const bool upper = (lane & mask) != 0;
      CT_UNROLL
      for (int i = 0; i < half; ++i) {
        const std::uint32_t given = upper ? most[i] : most[i + half];
        most[i] = larger(upper ? most[i + half] : most[i], ctx.shuffle_xor(given, mask));
      }
    }
    if constexpr (packed) {
      const std::uint32_t pair = larger(most[0], ctx.shuffle_xor(most[0], step));
      const auto one = static_cast<Bits<S>>((lane & step) != 0 ? pair >> 16 : pair);
      return values::magnitude_of(
          values::convert<float>(values::bits_as<S>(one), Overflow::standard));
    } else {
      return most[0];
    }
  }
};

/// T: what the values become. The tile is 128 x 128: long runs on all sides.
template <class S, class T, bool rows, bool cols>
struct QuantiseMx {
  using Block = WarpBlock<S>;
  static constexpr int V = Block::V;
  static constexpr int R = Block::R;
  static constexpr int side = 128;
  static constexpr int tile_rows = side;
  static constexpr int tile_cols = side;
  static constexpr int blocks = side / 32;
  static constexpr int threads = 256;
  static constexpr int min_blocks = rows && cols && sizeof(S) == 4 ? 3 : 4;
  /// Where the values lie that keep their rows: groups of lanes write rows R apart.
  using RowMap = Padded<side, side, 32, R>;
  /// Where the transposed values lie: lanes of a group write columns V apart.
  using ColMap = Padded<side, side, 128 / R, V>;
  static constexpr unsigned row_bytes =
      rows ? static_cast<unsigned>(RowMap::required_span_size()) : 0;
  static constexpr unsigned tile_bytes =
      row_bytes + (cols ? static_cast<unsigned>(ColMap::required_span_size()) : 0);
  static constexpr unsigned shared_bytes = tile_bytes + 2 * side * blocks;

  template <class Ctx>
  CT_DEVICE static void run(Ctx& ctx, const QuantiseArgs& a) {
    const auto row_tile = ctx.template dynamic_shared<std::uint8_t>();
    const auto col_tile = row_tile + row_bytes;
    const auto row_scales = row_tile + tile_bytes;
    const auto col_scales = row_scales + side * blocks;
    const std::uint32_t across = a.tiles_down.quotient(ctx.block_id().x);
    const std::uint32_t row0 = (ctx.block_id().x - across * a.tiles_down.divisor) * side;
    const std::uint32_t col0 = across * side;
    const std::int64_t matrix = ctx.block_id().y;
    const std::byte* const src = a.src + matrix * a.src_step;
    const QuantiseSide row_side = a.along_rows.of(matrix);
    const QuantiseSide col_side = a.along_cols.of(matrix);
    const int lane = thread_of(ctx) % 32;
    const int group = lane / Block::across;
    const int place = lane % Block::across;
    for (int b = thread_of(ctx) / 32; b < blocks * blocks; b += threads / 32) {
      const int r0 = b / blocks * 32;
      const int c0 = b % blocks * 32;
      const bool inside =
          row0 + static_cast<unsigned>(r0) < a.rows && col0 + static_cast<unsigned>(c0) < a.cols;
      if (!inside) continue;
      const std::int64_t row = row0 + static_cast<unsigned>(r0);
      const std::int64_t col = col0 + static_cast<unsigned>(c0);
      Block block;
      block.load(ctx, src + row * a.pitch + col * static_cast<int>(sizeof(S)), a.pitch);
      if constexpr (rows) stage_rows(ctx, a, block, group, place, r0, c0, row_tile, row_scales);
      if constexpr (cols) stage_columns(ctx, a, block, group, place, r0, c0, col_tile, col_scales);
    }
    ctx.barrier();
    if constexpr (rows) {
      store_scales(ctx, row_side.scales, row_scales, row0, a.rows, col0, a.cols);
      store_values<RowMap>(ctx, row_side.values, row_tile, row0, a.rows, col0, a.cols);
    }
    if constexpr (cols) {
      store_scales(ctx, col_side.scales, col_scales, col0, a.cols, row0, a.rows);
      store_values<ColMap>(ctx, col_side.values, col_tile, col0, a.cols, row0, a.rows);
    }
  }

 private:
  // The blocks along the rows of a warp's part of the tile, which begins at row r0 and column c0.
  template <class Ctx>
  CT_DEVICE static void stage_rows(Ctx& ctx, const QuantiseArgs& a, const Block& block, int group,
                                   int place, int r0, int c0, SharedPointer<std::uint8_t> tile,
                                   SharedPointer<std::uint8_t> scales) {
    const std::uint8_t code = values::mx_scale<T>(block.of_row(ctx), a.rule);
    const float inverse = values::mx_inverse(code);
    ctx.store(scales + ((r0 + group * R + place) * blocks + c0 / 32), code);
    CT_UNROLL
    for (int r = 0; r < R; ++r) {
      float x[V];
      CT_UNROLL
      for (int c = 0; c < V; ++c) x[c] = block.at(r, c);
      const int at = group * R + r;
      ctx.store(cast<Vec<std::uint32_t, V / 4>>(tile + RowMap::at(r0 + at, c0 + place * V)),
                mx_codes<T>(x, ctx.shuffle(inverse, group * Block::across + r)));
    }
  }

  // The blocks along its columns.
  template <class Ctx>
  CT_DEVICE static void stage_columns(Ctx& ctx, const QuantiseArgs& a, const Block& block,
                                      int group, int place, int r0, int c0,
                                      SharedPointer<std::uint8_t> tile,
                                      SharedPointer<std::uint8_t> scales) {
    const std::uint8_t code = values::mx_scale<T>(block.of_column(ctx), a.rule);
    const float inverse = values::mx_inverse(code);
    ctx.store(scales + ((c0 + place * V + group) * blocks + r0 / 32), code);
    CT_UNROLL
    for (int c = 0; c < V; ++c) {
      float x[R];
      CT_UNROLL
      for (int r = 0; r < R; ++r) x[r] = block.at(r, c);
      const int at = c0 + place * V + c;
      ctx.store(cast<Vec<std::uint32_t, R / 4>>(tile + ColMap::at(at, r0 + group * R)),
                mx_codes<T>(x, ctx.shuffle(inverse, c * Block::across + place)));
    }
  }

  // The values of lines `line0` and following, of which each has `all`, from `first` on.
  template <class Map, class Ctx>
  CT_DEVICE static void store_values(Ctx& ctx, std::byte* to, SharedPointer<std::uint8_t> from,
                                     std::uint32_t line0, std::uint32_t lines, std::uint32_t first,
                                     std::uint32_t all) {
    constexpr int vectors = side / 16;
    CT_UNROLL
    for (int i = thread_of(ctx); i < side * vectors; i += threads) {
      const int m = i / vectors;
      const int n = i % vectors * 16;
      const std::uint32_t line = line0 + static_cast<unsigned>(m);
      const bool inside = line < lines && first + static_cast<unsigned>(n) < all;
      const Words v = ctx.load_if(inside, cast<Words>(from + Map::at(m, n)));
      std::byte* const at = to + static_cast<std::int64_t>(line) * all + first + n;
      ctx.store_if(inside, reinterpret_cast<Words*>(at), v);
    }
  }

  // The scales of lines `line0` and following, of which each has `all` elements, from `first` on.
  template <class Ctx>
  CT_DEVICE static void store_scales(Ctx& ctx, std::byte* to, SharedPointer<std::uint8_t> from,
                                     std::uint32_t line0, std::uint32_t lines, std::uint32_t first,
                                     std::uint32_t all) {
    const std::uint32_t of_line = all / 32;
    const int line = thread_of(ctx);
    if (line >= side || line0 + static_cast<unsigned>(line) >= lines) return;
    std::byte* const at =
        to + static_cast<std::int64_t>(line0 + static_cast<unsigned>(line)) * of_line + first / 32;
    const auto four = cast<std::uint32_t>(from + line * blocks);
    const bool whole = of_line % 4 == 0 && first + side <= all;
    ctx.store_if(whole, reinterpret_cast<std::uint32_t*>(at), ctx.load_if(whole, four));
    if (whole) return;
    CT_NO_UNROLL
    for (int k = 0; k < blocks && first + 32 * static_cast<unsigned>(k) < all; ++k) {
      ctx.store(reinterpret_cast<std::uint8_t*>(at + k), ctx.load(from + (line * blocks + k)));
    }
  }
};

/// One direction: `transposed` blocks run along the source's columns. Lines of the result are put
/// together in shared memory, as blocks of 34 bytes begin anywhere.
template <class S, bool transposed>
struct QuantiseQ8 {
  using Block = WarpBlock<S>;
  static constexpr int V = Block::V;
  static constexpr int R = Block::R;
  static constexpr int tile_rows = transposed ? 256 : 64;
  static constexpr int tile_cols = transposed ? 64 : 256;
  static constexpr int lines = transposed ? tile_cols : tile_rows;  ///< of the result
  static constexpr int of_line = 256 / 32;                          ///< blocks
  static constexpr int line_bytes = of_line * 34;
  static constexpr int pitch = line_bytes + 4;  ///< in shared memory
  static constexpr int threads = 256;
  static constexpr int min_blocks = 4;
  static constexpr unsigned shared_bytes = lines * pitch;

  template <class Ctx>
  CT_DEVICE static void run(Ctx& ctx, const QuantiseArgs& a) {
    const auto tile = ctx.template dynamic_shared<std::uint8_t>();
    const std::uint32_t across = a.tiles_down.quotient(ctx.block_id().x);
    const std::uint32_t row0 = (ctx.block_id().x - across * a.tiles_down.divisor) * tile_rows;
    const std::uint32_t col0 = across * tile_cols;
    const std::int64_t matrix = ctx.block_id().y;
    const std::byte* const src = a.src + matrix * a.src_step;
    const int lane = thread_of(ctx) % 32;
    const int group = lane / Block::across;
    const int place = lane % Block::across;
    constexpr int blocks_across = tile_cols / 32;
    for (int b = thread_of(ctx) / 32; b < tile_rows / 32 * blocks_across; b += threads / 32) {
      const int r0 = b / blocks_across * 32;
      const int c0 = b % blocks_across * 32;
      const std::int64_t row = row0 + static_cast<unsigned>(r0);
      const std::int64_t col = col0 + static_cast<unsigned>(c0);
      if (row >= a.rows || col >= a.cols) continue;
      Block block;
      block.load(ctx, src + row * a.pitch + col * static_cast<int>(sizeof(S)), a.pitch);
      // The lane's own line, and those of its values.
      const values::Q8Scale scale =
          values::q8_scale(transposed ? block.of_column(ctx) : block.of_row(ctx));
      const int own = transposed ? c0 + place * V + group : r0 + group * R + place;
      const int at = (transposed ? r0 : c0) / 32 * 34;
      ctx.store(cast<std::uint16_t>(tile + (own * pitch + at)), scale.stored.bits);
      const float own_inverse = q8_inverse(scale);
      constexpr int of_lane = transposed ? V : R;  // lines
      constexpr int along = transposed ? R : V;
      CT_UNROLL
      for (int i = 0; i < of_lane; ++i) {
        const float inverse = ctx.shuffle(
            own_inverse, transposed ? i * Block::across + place : group * Block::across + i);
        std::uint8_t v[along];
        CT_UNROLL
        for (int k = 0; k < along; ++k) {
          v[k] = static_cast<std::uint8_t>(
              q8_code(transposed ? block.at(k, i) : block.at(i, k), inverse));
        }
        const int line = transposed ? c0 + place * V + i : r0 + group * R + i;
        put(ctx, tile + (line * pitch + at), (transposed ? group : place) * along, v);
      }
    }
    ctx.barrier();
    store_tile(ctx, a, row0, col0, tile);
  }

 private:
  // All lines of the tile that begins at row0 and col0.
  template <class Ctx>
  CT_DEVICE static void store_tile(Ctx& ctx, const QuantiseArgs& a, std::uint32_t row0,
                                   std::uint32_t col0, SharedPointer<std::uint8_t> tile) {
    const std::uint32_t line0 = transposed ? col0 : row0;
    const std::uint32_t all_lines = transposed ? a.cols : a.rows;
    const std::uint32_t along0 = transposed ? row0 : col0;
    const std::uint32_t along = transposed ? a.rows : a.cols;
    const std::int64_t dst_pitch = static_cast<std::int64_t>(along / 32) * 34;
    std::byte* const values =
        (transposed ? a.along_cols : a.along_rows).of(ctx.block_id().y).values;
    std::byte* const to = values + line0 * dst_pitch + along0 / 32 * 34;
    const std::uint32_t left = (along - along0) / 32 * 34;
    const int bytes = left < line_bytes ? static_cast<int>(left) : line_bytes;
    const std::uint32_t down = all_lines - line0;
    const int count = down < lines ? static_cast<int>(down) : lines;
    const auto bits = static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(to) |
                                            static_cast<std::uintptr_t>(dst_pitch)) |
                      static_cast<unsigned>(bytes);
    if (bits % 16 == 0) {
      store<Words>(ctx, to, dst_pitch, tile, count, bytes);
    } else if (bits % 4 == 0) {
      store<std::uint32_t>(ctx, to, dst_pitch, tile, count, bytes);
    } else {
      store<std::uint16_t>(ctx, to, dst_pitch, tile, count, bytes);
    }
  }

  // Values begin two bytes past a multiple of two.
  template <int count, class Ctx>
  CT_DEVICE static void put(Ctx& ctx, SharedPointer<std::uint8_t> block, int first,
                            const std::uint8_t (&v)[count]) {
    CT_UNROLL
    for (int k = 0; k < count; k += 2) {
      ctx.store(cast<std::uint16_t>(block + (2 + first + k)),
                static_cast<std::uint16_t>(v[k] | v[k + 1] << 8));
    }
  }

  // Lines lie a multiple of 4 bytes apart in shared memory.
  template <class T, class Ctx>
  CT_DEVICE static T staged(Ctx& ctx, bool inside, SharedPointer<std::uint8_t> at) {
    if constexpr (sizeof(T) <= 4) {
      return ctx.load_if(inside, cast<T>(at));
    } else {
      T words;
      CT_UNROLL
      for (int i = 0; i < 4; ++i) words[i] = ctx.load_if(inside, cast<std::uint32_t>(at) + i);
      return words;
    }
  }

  template <class T, class Ctx>
  CT_DEVICE static void store(Ctx& ctx, std::byte* to, std::int64_t dst_pitch,
                              SharedPointer<std::uint8_t> tile, int count, int bytes) {
    constexpr int pieces = line_bytes / static_cast<int>(sizeof(T));
    CT_PARTLY_UNROLL
    for (int i = thread_of(ctx); i < lines * pieces; i += threads) {
      const int line = i / pieces;
      const int at = i % pieces * static_cast<int>(sizeof(T));
      const bool inside = line < count && at < bytes;
      ctx.store_if(inside, reinterpret_cast<T*>(to + line * dst_pitch + at),
                   staged<T>(ctx, inside, tile + (line * pitch + at)));
    }
  }
};

template <class Visit>
void dispatch(const QuantiseArgs& a, Visit&& visit) {
  const auto of_source = [&]<class S>() {
    const bool rows = a.along_rows.values != nullptr;
    const bool cols = a.along_cols.values != nullptr;
    if (a.format == BlockFormat::q8_0) {
      cols ? visit.template operator()<QuantiseQ8<S, true>>()
           : visit.template operator()<QuantiseQ8<S, false>>();
      return;
    }
    const auto mx = [&]<class T>() {
      if (rows && cols) {
        visit.template operator()<QuantiseMx<S, T, true, true>>();
      } else if (rows) {
        visit.template operator()<QuantiseMx<S, T, true, false>>();
      } else {
        visit.template operator()<QuantiseMx<S, T, false, true>>();
      }
    };
    a.format == BlockFormat::mxfp8_e4m3 ? mx.template operator()<values::E4M3>()
                                        : mx.template operator()<values::E5M2>();
  };
  switch (a.kind) {
    case Kind::f32:
      return of_source.template operator()<float>();
    case Kind::f16:
      return of_source.template operator()<values::F16>();
    default:
      return of_source.template operator()<values::BF16>();
  }
}

}  // namespace cornerturn::kernels
