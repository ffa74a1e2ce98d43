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
  BlockFormat format = BlockFormat::mx_e4m3;
  values::MxScale rule = values::MxScale::floor;
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

  float x[R][V];
  Words raw[R];

  /// Of 16-bit floats, two in a word: magnitudes compare like whole numbers.
  CT_DEVICE static std::uint32_t larger_halves(std::uint32_t a, std::uint32_t b) {
#if defined(__CUDA_ARCH__)
    return __vmaxu2(a, b);
#else
    const std::uint32_t low = (a & 0xffffU) > (b & 0xffffU) ? a & 0xffffU : b & 0xffffU;
    return low | (a >> 16 > b >> 16 ? a & 0xffff0000U : b & 0xffff0000U);
#endif
  }
  CT_DEVICE static std::uint32_t magnitudes(std::uint32_t pair) {
    return pair & 0x7fff7fffU;
  }
  /// As the bits of f32.
  CT_DEVICE static std::uint32_t widened(std::uint32_t magnitude) {
    return values::magnitude_of(values::convert<float>(
        values::bits_as<S>(static_cast<Bits<S>>(magnitude)), Overflow::standard));
  }

  template <class Ctx>
  CT_DEVICE void load(Ctx& ctx, bool active, const std::byte* first, std::int64_t pitch) {
    const int lane = thread_of(ctx) % 32;
    const std::byte* from = first + lane / across * R * pitch + lane % across * 16;
    CT_UNROLL
    for (int r = 0; r < R; ++r) {
      raw[r] = ctx.load_line_if(active, reinterpret_cast<const Words*>(from + r * pitch));
    }
    CT_UNROLL
    for (int r = 0; r < R; ++r) {
      CT_UNROLL
      for (int c = 0; c < V; ++c) {
        x[r][c] = number_of<S>(element_of<Bits<S>>(raw[r], c));
      }
    }
  }

  /// The largest magnitude of each of the lane's rows, over all 32 columns.
  template <class Ctx>
  CT_DEVICE void of_rows(Ctx& ctx, std::uint32_t (&bits)[R]) const {
    CT_UNROLL
    for (int r = 0; r < R; ++r) {
      if constexpr (sizeof(S) == 2) {
        std::uint32_t most = magnitudes(raw[r][0]);
        CT_UNROLL
        for (int k = 1; k < 4; ++k) most = larger_halves(most, magnitudes(raw[r][k]));
        CT_UNROLL
        for (int mask = 1; mask < across; mask *= 2) {
          most = larger_halves(most, ctx.shuffle_xor(most, mask));
        }
        bits[r] = widened(larger_halves(most, most >> 16) & 0xffffU);
      } else {
        float most = x[r][0];
        CT_UNROLL
        for (int c = 1; c < V; ++c) most = larger(most, x[r][c]);
        CT_UNROLL
        for (int mask = 1; mask < across; mask *= 2) {
          most = larger(most, ctx.shuffle_xor(most, mask));
        }
        bits[r] = values::magnitude_of(most);
      }
    }
  }
  /// And of each of its columns, over all 32 rows.
  template <class Ctx>
  CT_DEVICE void of_cols(Ctx& ctx, std::uint32_t (&bits)[V]) const {
    if constexpr (sizeof(S) == 2) {
      CT_UNROLL
      for (int k = 0; k < 4; ++k) {
        std::uint32_t most = magnitudes(raw[0][k]);
        CT_UNROLL
        for (int r = 1; r < R; ++r) most = larger_halves(most, magnitudes(raw[r][k]));
        CT_UNROLL
        for (int mask = across; mask < 32; mask *= 2) {
          most = larger_halves(most, ctx.shuffle_xor(most, mask));
        }
        bits[2 * k] = widened(most & 0xffffU);
        bits[2 * k + 1] = widened(most >> 16);
      }
    } else {
      CT_UNROLL
      for (int c = 0; c < V; ++c) {
        float most = x[0][c];
        CT_UNROLL
        for (int r = 1; r < R; ++r) most = larger(most, x[r][c]);
        CT_UNROLL
        for (int mask = across; mask < 32; mask *= 2) {
          most = larger(most, ctx.shuffle_xor(most, mask));
        }
        bits[c] = values::magnitude_of(most);
      }
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
  static constexpr int min_blocks = rows && cols ? 3 : 4;
  /// Of the transposed values: lanes of a group write columns V apart.
  using Map = Padded<side, side, 128 / R, V>;
  static constexpr unsigned tile_bytes =
      cols ? static_cast<unsigned>(Map::required_span_size()) : 0;
  static constexpr unsigned shared_bytes = tile_bytes + 2 * side * blocks;

  template <class Ctx>
  CT_DEVICE static void run(Ctx& ctx, const QuantiseArgs& a) {
    const auto tile = ctx.template dynamic_shared<std::uint8_t>();
    const auto row_scales = tile + tile_bytes;
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
      block.load(ctx, true, src + row * a.pitch + col * static_cast<int>(sizeof(S)), a.pitch);
      if constexpr (rows) {
        std::uint32_t most[R];
        block.of_rows(ctx, most);
        CT_UNROLL
        for (int r = 0; r < R; ++r) {
          const std::uint8_t code = values::mx_scale<T>(most[r], a.rule);
          const int at = group * R + r;
          std::byte* const to = row_side.values + (row + at) * a.cols + col + place * V;
          ctx.store(reinterpret_cast<Vec<std::uint32_t, V / 4>*>(to),
                    mx_codes<T>(block.x[r], code));
          if (place == 0) ctx.store(row_scales + ((r0 + at) * blocks + c0 / 32), code);
        }
      }
      if constexpr (cols) {
        std::uint32_t most[V];
        block.of_cols(ctx, most);
        CT_UNROLL
        for (int c = 0; c < V; ++c) {
          const std::uint8_t code = values::mx_scale<T>(most[c], a.rule);
          float x[R];
          CT_UNROLL
          for (int r = 0; r < R; ++r) x[r] = block.x[r][c];
          const int at = c0 + place * V + c;
          ctx.store(cast<Vec<std::uint32_t, R / 4>>(tile + Map::at(at, r0 + group * R)),
                    mx_codes<T>(x, code));
          if (group == 0) ctx.store(col_scales + (at * blocks + r0 / 32), code);
        }
      }
    }
    ctx.barrier();
    if constexpr (rows) {
      store_scales(ctx, row_side.scales, row_scales, row0, a.rows, col0, a.cols);
    }
    if constexpr (cols) {
      store_scales(ctx, col_side.scales, col_scales, col0, a.cols, row0, a.rows);
      constexpr int vectors = side / 16;
      CT_UNROLL
      for (int i = thread_of(ctx); i < side * vectors; i += threads) {
        const int m = i / vectors;
        const int n = i % vectors * 16;
        const bool inside =
            col0 + static_cast<unsigned>(m) < a.cols && row0 + static_cast<unsigned>(n) < a.rows;
        const Words v = ctx.load_if(inside, cast<Words>(tile + Map::at(m, n)));
        std::byte* const to = col_side.values +
                              static_cast<std::int64_t>(col0 + static_cast<unsigned>(m)) * a.rows +
                              row0 + n;
        ctx.store_if(inside, reinterpret_cast<Words*>(to), v);
      }
    }
  }

 private:
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

/// One direction: `turned` blocks run along the source's columns. Lines of the result are put
/// together in shared memory, as blocks of 34 bytes begin anywhere.
template <class S, bool turned>
struct QuantiseQ8 {
  using Block = WarpBlock<S>;
  static constexpr int V = Block::V;
  static constexpr int R = Block::R;
  static constexpr int tile_rows = turned ? 256 : 64;
  static constexpr int tile_cols = turned ? 64 : 256;
  static constexpr int lines = turned ? tile_cols : tile_rows;  ///< of the result
  static constexpr int of_line = 256 / 32;                      ///< blocks
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
      block.load(ctx, true, src + row * a.pitch + col * static_cast<int>(sizeof(S)), a.pitch);
      if constexpr (turned) {
        std::uint32_t most[V];
        block.of_cols(ctx, most);
        CT_UNROLL
        for (int c = 0; c < V; ++c) {
          std::uint8_t v[R];
          const values::Q8Scale scale = values::q8_scale(most[c]);
          const float inverse = q8_inverse(scale);
          CT_UNROLL
          for (int r = 0; r < R; ++r)
            v[r] = static_cast<std::uint8_t>(q8_code(block.x[r][c], inverse));
          const auto at = tile + ((c0 + place * V + c) * pitch + r0 / 32 * 34);
          put(ctx, at, group * R, v);
          if (group == 0) ctx.store(cast<std::uint16_t>(at), scale.stored.bits);
        }
      } else {
        std::uint32_t most[R];
        block.of_rows(ctx, most);
        CT_UNROLL
        for (int r = 0; r < R; ++r) {
          std::uint8_t v[V];
          const values::Q8Scale scale = values::q8_scale(most[r]);
          const float inverse = q8_inverse(scale);
          CT_UNROLL
          for (int c = 0; c < V; ++c)
            v[c] = static_cast<std::uint8_t>(q8_code(block.x[r][c], inverse));
          const auto at = tile + ((r0 + group * R + r) * pitch + c0 / 32 * 34);
          put(ctx, at, place * V, v);
          if (place == 0) ctx.store(cast<std::uint16_t>(at), scale.stored.bits);
        }
      }
    }
    ctx.barrier();

    const std::uint32_t line0 = turned ? col0 : row0;
    const std::uint32_t all_lines = turned ? a.cols : a.rows;
    const std::uint32_t along0 = turned ? row0 : col0;
    const std::uint32_t along = turned ? a.rows : a.cols;
    const std::int64_t dst_pitch = static_cast<std::int64_t>(along / 32) * 34;
    std::byte* const values = (turned ? a.along_cols : a.along_rows).of(matrix).values;
    std::byte* const to = values + line0 * dst_pitch + along0 / 32 * 34;
    const std::uint32_t left = (along - along0) / 32 * 34;
    const int bytes = left < line_bytes ? static_cast<int>(left) : line_bytes;
    const std::uint32_t down = all_lines - line0;
    const int count = down < lines ? static_cast<int>(down) : lines;
    const bool words =
        reinterpret_cast<std::uintptr_t>(to) % 4 == 0 && dst_pitch % 4 == 0 && bytes % 4 == 0;
    if (words) {
      store<std::uint32_t>(ctx, to, dst_pitch, tile, count, bytes);
    } else {
      store<std::uint16_t>(ctx, to, dst_pitch, tile, count, bytes);
    }
  }

 private:
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

  template <class T, class Ctx>
  CT_DEVICE static void store(Ctx& ctx, std::byte* to, std::int64_t dst_pitch,
                              SharedPointer<std::uint8_t> tile, int count, int bytes) {
    constexpr int pieces = line_bytes / static_cast<int>(sizeof(T));
    CT_PARTLY_UNROLL
    for (int i = thread_of(ctx); i < lines * pieces; i += threads) {
      const int line = i / pieces;
      const int at = i % pieces * static_cast<int>(sizeof(T));
      const bool inside = line < count && at < bytes;
      const T v = ctx.load_if(inside, cast<T>(tile + (line * pitch + at)));
      ctx.store_if(inside, reinterpret_cast<T*>(to + line * dst_pitch + at), v);
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
    a.format == BlockFormat::mx_e4m3 ? mx.template operator()<values::E4M3>()
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
