// quantise: matrices become blocks of values that share a scale, along their rows, along their
// columns (the result is transposed then), or both from one reading. Floats of 8 and 4 bits, whose
// scales lie in an array of their own, are for quantise_tile.hpp and quantise_nibbles.hpp. Here are
// blocks of q8_0: 34 bytes, one after the other, in one direction. A warp takes 32 x 32 elements:
// lanes hold whole vectors of a few rows, so that the largest magnitudes of rows and of columns are
// found by shuffles. Arrays that are no such matrices are for blocks.hpp.
#pragma once

#include <cstdint>
#include <variant>

#include "kernels/block_codes.hpp"
#include "kernels/casts.hpp"
#include "kernels/quantise_args.hpp"
#include "kernels/quantise_nibbles.hpp"
#include "kernels/quantise_tile.hpp"
#include "kernels/unaligned.hpp"
#include "kernels/walk.hpp"
#include "values/blocks.hpp"

namespace cornerturn::kernels {

struct QuantiseQ8Args {
  const std::byte* src = nullptr;
  std::byte* dst = nullptr;
  std::int64_t pitch = 0;     ///< bytes from one row to the next
  std::int64_t src_step = 0;  ///< from one matrix to the next
  std::int64_t dst_step = 0;
  std::uint32_t matrices = 1;
  std::uint32_t rows = 0;  ///< multiples of 32
  std::uint32_t cols = 0;
  Kind kind = Kind::f32;    ///< of the source: f32, f16 or bf16
  bool transposed = false;  ///< blocks run along the source's columns
  FastDivide tiles_down;    ///< blocks that follow each other go down
};

struct QuantiseArgs {
  std::variant<QuantiseQ8Args, QuantiseTileArgs> form;
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

/// One direction: `transposed` blocks run along the source's columns. Lines of the result are put
/// together in shared memory, as blocks of 34 bytes begin anywhere.
template <class S, bool transposed>
struct QuantiseQ8 {
  using Args = QuantiseQ8Args;
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
  CT_DEVICE static void run(Ctx& ctx, const Args& a) {
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
  CT_DEVICE static void store_tile(Ctx& ctx, const Args& a, std::uint32_t row0, std::uint32_t col0,
                                   SharedPointer<std::uint8_t> tile) {
    const std::uint32_t line0 = transposed ? col0 : row0;
    const std::uint32_t all_lines = transposed ? a.cols : a.rows;
    const std::uint32_t along0 = transposed ? row0 : col0;
    const std::uint32_t along = transposed ? a.rows : a.cols;
    const std::int64_t dst_pitch = static_cast<std::int64_t>(along / 32) * 34;
    std::byte* const to =
        a.dst + ctx.block_id().y * a.dst_step + line0 * dst_pitch + along0 / 32 * 34;
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
void dispatch(const QuantiseQ8Args& a, Visit&& visit) {
  with_source(a.kind, [&]<class S>() {
    a.transposed ? visit.template operator()<QuantiseQ8<S, true>>()
                 : visit.template operator()<QuantiseQ8<S, false>>();
  });
}

template <class Visit>
void dispatch(const QuantiseTileArgs& a, Visit&& visit) {
  a.e2m1 ? dispatch_nibbles(a, visit) : dispatch_bytes(a, visit);
}

template <class Visit>
void dispatch(const QuantiseArgs& a, Visit&& visit) {
  std::visit([&](const auto& form) { dispatch(form, visit); }, a.form);
}

}  // namespace cornerturn::kernels
