// dequantise: lines of blocks whose values share a scale become a matrix, as they lie or
// transposed, and stacks of them. Scales become factors of 32 values, of e2m1 of 16, in shared
// memory. Codes go to shared memory as whole aligned vectors, at whatever phase their line begins;
// a lane makes whole vectors of the destination. Transposed, it takes four neighbouring values from
// each of the lines of a vector, and makes four vectors of them.
//
//   codes, V lines    k k+1 k+2 k+3        destination   row k      v v v v    one vector
//                     v  v   v   v                       row k + 1  v v v v
//                     v  v   v   v   -->                 row k + 2  v v v v
//
// Arrays that are no such matrices are for blocks.hpp.
#pragma once

#include <cstdint>

#include "kernels/block_codes.hpp"
#include "kernels/scale_steps.hpp"
#include "kernels/unaligned.hpp"
#include "kernels/walk.hpp"

namespace cornerturn::kernels {

/// Strides are in bytes.
struct DequantiseArgs {
  std::byte* dst = nullptr;
  std::int64_t dst_pitch = 0;  ///< from one row to the next: a multiple of 16, as dst and dst_step
  std::int64_t dst_step = 0;   ///< from one matrix to the next
  const std::byte* values = nullptr;  ///< blocks of q8_0, or values: next to each other
  std::int64_t value_pitch = 0;       ///< from one line to the next
  std::int64_t value_step = 0;
  Span span;                          ///< of values
  const std::byte* scales = nullptr;  ///< of all but q8_0
  ScaleSteps steps;
  std::int64_t scale_step = 0;
  ScaleType scale = ScaleType::e8m0;
  float tensor = 1;               ///< the tensor's scale, for those of E4M3
  std::uint32_t along_bits = 5;   ///< log2 of the values of a line that a block has
  std::uint32_t across_bits = 0;  ///< and of its lines
  std::uint32_t matrices = 1;
  std::uint32_t lines = 0;
  std::uint32_t length = 0;  ///< of a line, in values: the last block need not be full
  Kind kind = Kind::f32;     ///< of the destination: f32, f16 or bf16
  BlockElement element = BlockElement::e4m3;  ///< packed: q8_0
  bool transposed = false;                    ///< lines become columns
  FastDivide tiles_fast;  ///< tiles side by side along the rows of the destination
};

template <BlockElement element, class D, bool transposed>
struct Dequantise {
  static constexpr bool q8 = element == BlockElement::packed;
  static constexpr bool nibbles = element == BlockElement::e2m1;
  static constexpr int size = static_cast<int>(sizeof(D));
  static constexpr int V = 16 / size;
  static constexpr int lines = 64;
  static constexpr int length = 256;
  static constexpr int cell = nibbles ? 16 : 32;  ///< values of a line that have one factor
  static constexpr int cells = length / cell;
  static constexpr int threads = 256;
  static constexpr int min_blocks = 4;
  static constexpr int cell_bytes = q8        ? static_cast<int>(sizeof(values::Q8Block))
                                    : nibbles ? cell / 2
                                              : cell;
  static constexpr int vectors = cells * cell_bytes / 16 + 1;  ///< one more for the phase
  /// That codes are read in.
  using Unit = std::conditional_t<q8 || nibbles, std::uint16_t, std::uint32_t>;

  /// Where a line begins in shared memory, without its phase: lanes V lines apart share no banks.
  CT_HOST_DEVICE static constexpr int line_at(int n) { return n * vectors * 16 + n / V * 16; }
  static constexpr unsigned scales_at = static_cast<unsigned>(line_at(lines));
  static constexpr int scales_pitch = lines + 4;
  static constexpr unsigned shared_bytes = scales_at + (q8 ? 0 : cells * scales_pitch * 4);

  /// A tile's part of the arrays, of which `lines` x `length` values are there.
  struct Tile {
    const std::byte* values;
    const std::byte* scales;
    std::byte* dst;
    std::uint32_t line;   ///< the first
    std::uint32_t first;  ///< value of a line
    int lines;
    int length;
    int cells;
  };

  template <class Ctx>
  CT_DEVICE static void run(Ctx& ctx, const DequantiseArgs& a) {
    const auto codes = ctx.template dynamic_shared<std::uint8_t>();
    const auto scales = cast<float>(codes + scales_at);
    const Tile tile = tile_of(a, ctx.block_id().x, ctx.block_id().y);
    load(ctx, a, tile, codes);
    ctx.commit_async();
    if constexpr (!q8) load_scales(ctx, a, tile, scales);
    ctx.template wait_async<0>();
    ctx.barrier();
    if constexpr (transposed) {
      store_transposed(ctx, a, tile, codes, scales);
    } else {
      store(ctx, a, tile, codes, scales);
    }
  }

 private:
  using Codes = SharedPointer<std::uint8_t>;
  using Scales = SharedPointer<float>;

  /// Below `threads`, as the compiler is to see: divisions by powers of two are shifts then.
  template <class Ctx>
  CT_DEVICE static int index_of(Ctx& ctx) {
    return static_cast<int>(ctx.thread_id().x % static_cast<unsigned>(threads));
  }

  CT_DEVICE static Tile tile_of(const DequantiseArgs& a, std::uint32_t block, std::int64_t matrix) {
    const std::uint32_t slow = a.tiles_fast.quotient(block);
    const std::uint32_t fast = block - slow * a.tiles_fast.divisor;
    const std::uint32_t line = (transposed ? fast : slow) * lines;
    const std::uint32_t first = (transposed ? slow : fast) * length;
    const std::int64_t row = transposed ? first : line;
    const std::int64_t col = transposed ? line : first;
    const auto at_most = [](std::uint32_t left, int most) {
      return left < static_cast<unsigned>(most) ? static_cast<int>(left) : most;
    };
    Tile tile;
    tile.values = a.values + matrix * a.value_step + line * a.value_pitch +
                  std::int64_t{first / cell} * cell_bytes;
    tile.scales = a.scales + matrix * a.scale_step;
    tile.line = line;
    tile.first = first;
    tile.dst = a.dst + matrix * a.dst_step + row * a.dst_pitch + col * size;
    tile.lines = at_most(a.lines - line, lines);
    tile.length = at_most(a.length - first, length);
    tile.cells = (tile.length + cell - 1) / cell;
    return tile;
  }

  /// Line n's first byte in shared memory.
  CT_DEVICE static Codes line_of(const DequantiseArgs& a, const Tile& tile, Codes codes, int n) {
    const auto base = static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(tile.values));
    const auto step = static_cast<std::uint32_t>(a.value_pitch);
    return codes + (line_at(n) + static_cast<int>((base + static_cast<unsigned>(n) * step) % 16));
  }

  // Whether the first vectors of all lines of a whole tile may be read: they end within their
  // lines, but may begin before them.
  CT_DEVICE static bool is_inner(const DequantiseArgs& a, const Tile& tile) {
    if (tile.lines < lines || tile.cells < cells) return false;
    const std::byte* const last = tile.values + (lines - 1) * a.value_pitch;
    return (tile.values < last ? tile.values : last) - 15 >= a.span.low;
  }

  template <class Ctx>
  CT_DEVICE static void load(Ctx& ctx, const DequantiseArgs& a, const Tile& tile, Codes codes) {
    constexpr int most = length / (nibbles ? 32 : 16);  // vectors of a line
    constexpr int at_once = threads / most;             // lines, of which a phase comes again
    constexpr int more = vectors - most;
    const bool inner = is_inner(a, tile);
    if (inner) {
      const int first = index_of(ctx) / most;
      const int at = index_of(ctx) % most * 16;
      const std::byte* from = tile.values + first * a.value_pitch;
      from += at - phase_of(from);
      const auto to = codes + (line_at(first) + at);
      CT_UNROLL
      for (int n = 0; n < lines; n += at_once) {
        ctx.copy_async(cast<Words>(to + line_at(n)), reinterpret_cast<const Words*>(from));
        from += at_once * a.value_pitch;
      }
    }
    const int bytes = tile.cells * cell_bytes;
    CT_NO_UNROLL
    for (int i = (inner ? lines * most : 0) + index_of(ctx); i < lines * vectors; i += threads) {
      const int beyond = i - lines * most;
      const int n = beyond < 0 ? i / most : beyond / more;
      const int at = 16 * (beyond < 0 ? i % most : most + beyond % more);
      const std::byte* const begin = tile.values + n * a.value_pitch;
      const int phase = phase_of(begin);
      if (n >= tile.lines || at >= phase + bytes) continue;
      const std::byte* const from = begin - phase + at;
      const auto to = cast<Words>(codes + (line_at(n) + at));
      if (a.span.holds(from)) {
        ctx.copy_async(to, reinterpret_cast<const Words*>(from));
      } else {
        ctx.store(to, load_inside<Unit>(ctx, true, from, a.span));
      }
    }
  }

  template <class Ctx>
  CT_DEVICE static void load_scales(Ctx& ctx, const DequantiseArgs& a, const Tile& tile,
                                    Scales scales) {
    const int at = index_of(ctx) % cells;
    const std::uint32_t block = (tile.first + static_cast<unsigned>(at * cell)) >> a.along_bits;
    const std::byte* const from = tile.scales + a.steps.of_block(block);
    CT_UNROLL
    for (int i = 0; i < lines; i += threads / cells) {
      const int n = i + index_of(ctx) / cells;
      const std::uint32_t line = (tile.line + static_cast<unsigned>(n)) >> a.across_bits;
      ctx.store(scales + (at * scales_pitch + n),
                factor(ctx, a, n < tile.lines && at < tile.cells, from + a.steps.of_line(line)));
    }
  }

  // What a scale stands for.
  template <class Ctx>
  CT_DEVICE static float factor(Ctx& ctx, const DequantiseArgs& a, bool inside,
                                const std::byte* at) {
    if constexpr (!nibbles) {
      if (a.scale == ScaleType::f32) {
        return ctx.load_if(inside, reinterpret_cast<const float*>(at));
      }
    }
    const std::uint8_t stored = ctx.load_if(inside, reinterpret_cast<const std::uint8_t*>(at));
    if constexpr (nibbles) {
      if (a.scale == ScaleType::e4m3) return values::nvfp4_factor(stored, a.tensor);
    }
    return values::e8m0(stored);
  }

  // Four values from the kth of a line on, k a multiple of four.
  template <class Ctx>
  CT_DEVICE static void decode(Ctx& ctx, Codes line, int k, float scale, float (&x)[4]) {
    const int in_cell = nibbles ? k % cell / 2 : k % cell + (q8 ? 2 : 0);
    const auto from = cast<Unit>(line + (k / cell * cell_bytes + in_cell));
    std::uint32_t four = ctx.load(from);
    if constexpr (q8) four = byte_permute(four, ctx.load(from + 1), 0x5410);
    numbers_of<element>(four, x);
    CT_UNROLL
    for (int i = 0; i < 4; ++i) x[i] = values::product(x[i], scale);
  }

  // The scale of q8_0 lies with its values, all others in a table.
  template <class Ctx>
  CT_DEVICE static float scale_of(Ctx& ctx, Codes line, Scales scales, int n, int k) {
    if constexpr (q8) {
      return widen_half(ctx.load(cast<std::uint16_t>(line + k / cell * cell_bytes)));
    } else {
      return ctx.load(scales + (k / cell * scales_pitch + n));
    }
  }

  // Neighbouring lanes make neighbouring vectors of a line.
  template <class Ctx>
  CT_DEVICE static void store(Ctx& ctx, const DequantiseArgs& a, const Tile& tile, Codes codes,
                              Scales scales) {
    constexpr int of_line = length / V;
    constexpr int at_once = threads / of_line;
    const int k = index_of(ctx) % of_line * V;
    const int first = index_of(ctx) / of_line;
    const int left = tile.length - k;
    if (left <= 0) return;
    std::byte* to = tile.dst + first * a.dst_pitch + k * size;
    CT_PARTLY_UNROLL
    for (int n = first; n < tile.lines; n += at_once) {
      const Codes line = line_of(a, tile, codes, n);
      const float scale = scale_of(ctx, line, scales, n, k);
      Words v;
      CT_UNROLL
      for (int i = 0; i < V; i += 4) {
        float x[4];
        decode(ctx, line, k + i, scale, x);
        put_products<D>(v, i, x[0], x[1]);
        put_products<D>(v, i + 2, x[2], x[3]);
      }
      ctx.store_if(left >= V, reinterpret_cast<Words*>(to), v);
      if (left < V) store_elements<Bits<D>>(ctx, to, v, 0, left * size);
      to += at_once * a.dst_pitch;
    }
  }

  // Eight neighbouring lanes make 128 bytes of a row.
  template <class Ctx>
  CT_DEVICE static void store_transposed(Ctx& ctx, const DequantiseArgs& a, const Tile& tile,
                                         Codes codes, Scales scales) {
    constexpr int warps_across = lines / (8 * V);
    constexpr int step = threads / 32 / warps_across * 16;
    const int lane = index_of(ctx) % 32;
    const int warp = index_of(ctx) / 32;
    const int n = (lane % 8 + warp % warps_across * 8) * V;
    const int first = (lane / 8 + warp / warps_across * 4) * 4;
    const int left = tile.lines - n;
    if (left <= 0) return;
    Codes line[V];
    CT_UNROLL
    for (int j = 0; j < V; ++j) line[j] = line_of(a, tile, codes, n + (j < left ? j : 0));
    std::byte* to = tile.dst + first * a.dst_pitch + n * size;
    CT_UNROLL
    for (int k = first; k < length; k += step) {
      if (k >= tile.cells * cell) return;
      Words v[4];
      CT_UNROLL
      for (int j = 0; j < V; j += 2) {
        float x[4], y[4];
        decode(ctx, line[j], k, scale_of(ctx, line[j], scales, n + j, k), x);
        decode(ctx, line[j + 1], k, scale_of(ctx, line[j + 1], scales, n + j + 1, k), y);
        CT_UNROLL
        for (int c = 0; c < 4; ++c) put_products<D>(v[c], j, x[c], y[c]);
      }
      CT_UNROLL
      for (int c = 0; c < 4; ++c) {
        const bool inside = k + c < tile.length;
        ctx.store_if(inside && left >= V, reinterpret_cast<Words*>(to + c * a.dst_pitch), v[c]);
      }
      if (left < V) {
        CT_UNROLL
        for (int c = 0; c < 4; ++c) {
          const int bytes = k + c < tile.length ? left * size : 0;
          store_elements<Bits<D>>(ctx, to + c * a.dst_pitch, v[c], 0, bytes);
        }
      }
      to += step * a.dst_pitch;
    }
  }
};

template <class Visit>
void dispatch(const DequantiseArgs& a, Visit&& visit) {
  const auto of_element = [&]<BlockElement element>() {
    const auto to = [&]<class D>() {
      a.transposed ? visit.template operator()<Dequantise<element, D, true>>()
                   : visit.template operator()<Dequantise<element, D, false>>();
    };
    switch (a.kind) {
      case Kind::f32:
        return to.template operator()<float>();
      case Kind::f16:
        return to.template operator()<values::F16>();
      default:
        return to.template operator()<values::BF16>();
    }
  };
  switch (a.element) {
    case BlockElement::packed:
      return of_element.template operator()<BlockElement::packed>();
    case BlockElement::e4m3:
      return of_element.template operator()<BlockElement::e4m3>();
    case BlockElement::e5m2:
      return of_element.template operator()<BlockElement::e5m2>();
    default:
      return of_element.template operator()<BlockElement::e2m1>();
  }
}

}  // namespace cornerturn::kernels
