// blocks: an array of any strides becomes blocks of 32 values that share a scale, or is made of
// them. A warp takes one block of each of 32 lines, a lane one of them: its values lie in the
// lane's registers, where the scale is found and applied. Where lanes shall follow a line instead,
// because what lies next to each other there belongs to one, the values or their codes are
// transposed in shared memory.
//
//   array    lanes across lines   straight to registers, and from them
//            lanes along a line   through 32 x 32 numbers of the warp
//   codes    lanes across lines   straight from registers, and to them
//            lanes along a line   through shared memory, where the blocks of a line that the thread
//                                 block has lie together
#pragma once

#include <cstdint>

#include "kernels/block_codes.hpp"
#include "kernels/blocks_args.hpp"
#include "kernels/casts.hpp"
#include "kernels/walk.hpp"
#include "maps/tile_maps.hpp"
#include "values/blocks.hpp"

namespace cornerturn::kernels {

template <class Element, bool back>
struct AnyBlocks {
  using Raw = typename Element::Raw;
  static constexpr int side = values::block_size;
  static constexpr int threads = 256;
  static constexpr int warps = threads / 32;
  static constexpr int min_blocks = 4;
  using Numbers = Padded<side, side, 1>;  // of f32: neither rows nor columns share banks
  static constexpr int number_span = static_cast<int>(Numbers::required_span_size());
  static constexpr unsigned codes_at = 3 * threads * 8;  // after where lines begin
  static constexpr unsigned numbers_at = codes_at + threads * (side + 4);

  /// Are the array's values transposed in shared memory?
  CT_HOST_DEVICE static constexpr bool is_transposed(const BlocksArgs& a) {
    return !Element::known || !a.plain_across;
  }
  CT_HOST_DEVICE static constexpr unsigned shared_bytes(const BlocksArgs& a) {
    return numbers_at + (is_transposed(a) ? warps * number_span * 4U : 0U);
  }

  /// What a thread block has in hand, and of it a warp.
  struct Tile {
    std::int64_t block;  ///< the first, and the warp's
    std::int64_t own_block;
    int lines;    ///< that are there
    int bytes;    ///< of codes of a line
    int pitch;    ///< of them in shared memory: an odd number of words
    int group;    ///< the warp's first line
    int own_at;   ///< where in a line the warp's codes begin
    int left;     ///< values that are there of the warp's blocks: may be none
    bool inside;  ///< the lane's line, of which there is the block
  };

  template <class Ctx>
  CT_DEVICE static void run(Ctx& ctx, const BlocksArgs& a) {
    const auto starts = ctx.template dynamic_shared<std::int64_t>();
    const auto codes = cast<std::uint8_t>(starts) + codes_at;
    const int warp = thread_of(ctx) / 32;
    const int lane = thread_of(ctx) % 32;
    const auto numbers = cast<float>(cast<std::uint8_t>(starts) + numbers_at) + warp * number_span;
    const int along = 1 << a.along_bits;
    for (std::int64_t number = ctx.block_id().x; number < a.tiles; number += ctx.grid_dim().x) {
      const auto slow =
          static_cast<std::int64_t>(a.tiles_fast.quotient(static_cast<std::uint64_t>(number)));
      const std::int64_t fast = number - slow * static_cast<std::int64_t>(a.tiles_fast.divisor);
      const std::int64_t first = (a.tiles_across ? fast : slow) * (threads >> a.along_bits);
      ctx.barrier();  // the tile before has been stored
      if (thread_of(ctx) < threads >> a.along_bits) {
        const std::int64_t line = first + thread_of(ctx);
        const LineStart at = a.line(line < a.lines ? line : 0);
        ctx.store(starts + thread_of(ctx), at.plain);
        ctx.store(starts + (threads + thread_of(ctx)), at.values);
        ctx.store(starts + (2 * threads + thread_of(ctx)), at.scales);
      }
      Tile tile;
      tile.block = (a.tiles_across ? slow : fast) << a.along_bits;
      tile.own_block = tile.block + (warp & (along - 1));
      tile.lines = at_most(a.lines - first, threads >> a.along_bits);
      tile.bytes =
          at_most((a.length - tile.block * side + side - 1) / side, along) * a.block_bytes();
      tile.pitch = ((along * a.block_bytes() + 3) / 4 | 1) * 4;
      tile.group = (warp >> a.along_bits) * 32;
      tile.own_at = (warp & (along - 1)) * a.block_bytes();
      tile.left = at_most(a.length - tile.own_block * side, side);
      tile.inside = tile.group + lane < tile.lines && tile.left > 0;
      ctx.barrier();
      if constexpr (back) {
        dequantise(ctx, a, tile, starts, codes, numbers);
      } else {
        quantise(ctx, a, tile, starts, codes, numbers);
      }
    }
  }

 private:
  using Starts = SharedPointer<std::int64_t>;
  using Codes = SharedPointer<std::uint8_t>;
  using Words = Vec<std::uint32_t, side / 4>;

  CT_DEVICE static int at_most(std::int64_t left, int most) {
    return left < most ? static_cast<int>(left) : most;
  }

  template <class Ctx>
  CT_DEVICE static void quantise(Ctx& ctx, const BlocksArgs& a, const Tile& tile, Starts starts,
                                 Codes codes, SharedPointer<float> numbers) {
    const int line = tile.group + thread_of(ctx) % 32;
    if (tile.left > 0) {
      float x[side];
      load_plain(ctx, a, tile, starts, numbers, x);
      float most[4] = {x[0], x[1], x[2], x[3]};
      CT_UNROLL
      for (int k = 4; k < side; ++k) most[k % 4] = larger(most[k % 4], x[k]);
      const std::uint32_t amax =
          values::magnitude_of(larger(larger(most[0], most[1]), larger(most[2], most[3])));
      const Codes to = codes + (line * tile.pitch + tile.own_at);
      if (a.q8()) {
        put_q8(ctx, tile, x, amax, to);
      } else {
        std::uint8_t scale = 0;
        const Words words = a.format == BlockFormat::mxfp8_e4m3
                                ? encoded<values::E4M3>(a, x, amax, scale)
                                : encoded<values::E5M2>(a, x, amax, scale);
        std::byte* const scales = a.scales + ctx.load(starts + (2 * threads + line));
        ctx.store_if(tile.inside,
                     reinterpret_cast<std::uint8_t*>(scales + tile.own_block * a.scale_step),
                     scale);
        if (a.values_across) {
          std::byte* at = lane_codes(ctx, a, tile, starts);
          CT_UNROLL
          for (int k = 0; k < side; ++k) {
            ctx.store_if(tile.inside, reinterpret_cast<std::uint8_t*>(at),
                         static_cast<std::uint8_t>(words[k / 4] >> 8 * (k % 4)));
            at += a.value_step;
          }
        } else {
          CT_UNROLL
          for (int k = 0; k < side / 4; ++k) {
            ctx.store_if(tile.inside, cast<std::uint32_t>(to + 4 * k), words[k]);
          }
        }
      }
    }
    if (a.values_across) return;
    ctx.barrier();
    by_unit(a, [&]<class T>(T) { move_codes<T>(ctx, a, tile, starts, codes); });
  }

  template <class Ctx>
  CT_DEVICE static void dequantise(Ctx& ctx, const BlocksArgs& a, const Tile& tile, Starts starts,
                                   Codes codes, SharedPointer<float> numbers) {
    if (!a.values_across) {
      by_unit(a, [&]<class T>(T) { move_codes<T>(ctx, a, tile, starts, codes); });
      ctx.barrier();
    }
    if (tile.left <= 0) return;
    const int line = tile.group + thread_of(ctx) % 32;
    const Codes from = codes + (line * tile.pitch + tile.own_at);
    float x[side];
    if (a.q8()) {
      const auto halves = cast<std::uint16_t>(from);
      const float scale = widen_half(ctx.load_if(tile.inside, halves));
      Words words;
      CT_UNROLL
      for (int k = 0; k < side / 4; ++k) {
        words[k] = byte_permute(ctx.load_if(tile.inside, halves + (2 * k + 1)),
                                ctx.load_if(tile.inside, halves + (2 * k + 2)), 0x5410);
      }
      decode<BlockElement::packed>(words, scale, x);
    } else {
      const std::byte* const scales = a.scales + ctx.load(starts + (2 * threads + line));
      const float scale =
          values::e8m0(ctx.load_if(tile.inside, reinterpret_cast<const std::uint8_t*>(
                                                    scales + tile.own_block * a.scale_step)));
      Words words;
      if (a.values_across) {
        const std::byte* at = lane_codes(ctx, a, tile, starts);
        std::uint8_t v[side];
        CT_UNROLL
        for (int k = 0; k < side; ++k) {
          v[k] = ctx.load_if(tile.inside, reinterpret_cast<const std::uint8_t*>(at));
          at += a.value_step;
        }
        words = bytes_joined(v);
      } else {
        CT_UNROLL
        for (int k = 0; k < side / 4; ++k) {
          words[k] = ctx.load_if(tile.inside, cast<std::uint32_t>(from + 4 * k));
        }
      }
      if (a.format == BlockFormat::mxfp8_e4m3) {
        decode<BlockElement::e4m3>(words, scale, x);
      } else {
        decode<BlockElement::e5m2>(words, scale, x);
      }
    }
    store_plain(ctx, a, tile, starts, numbers, x);
  }

  // The lane's block of MXFP8 values.
  template <class Ctx>
  CT_DEVICE static std::byte* lane_codes(Ctx& ctx, const BlocksArgs& a, const Tile& tile,
                                         Starts starts) {
    const int line = tile.group + thread_of(ctx) % 32;
    return a.values + ctx.load(starts + (threads + line)) + a.codes_at(tile.own_block, 0);
  }

  template <class T>
  CT_DEVICE static Words encoded(const BlocksArgs& a, const float (&x)[side], std::uint32_t amax,
                                 std::uint8_t& scale) {
    scale = values::mx_scale<T>(amax, a.rule);
    return mx_codes<T>(x, values::mx_inverse(scale));
  }

  template <class Ctx>
  CT_DEVICE static void put_q8(Ctx& ctx, const Tile& tile, const float (&x)[side],
                               std::uint32_t amax, Codes to) {
    const values::Q8Scale scale = values::q8_scale(amax);
    const float inverse = q8_inverse(scale);
    ctx.store_if(tile.inside, cast<std::uint16_t>(to), scale.stored.bits);
    CT_UNROLL
    for (int k = 0; k < side; k += 2) {
      const std::uint32_t pair =
          byte_permute(q8_code(x[k], inverse), q8_code(x[k + 1], inverse), 0x40);
      ctx.store_if(tile.inside, cast<std::uint16_t>(to + (2 + k)),
                   static_cast<std::uint16_t>(pair));
    }
  }

  template <BlockElement element>
  CT_DEVICE static void decode(const Words& words, float scale, float (&x)[side]) {
    CT_UNROLL
    for (int k = 0; k < side; k += 4) {
      float four[4];
      numbers_of<element>(words[k / 4], four);
      CT_UNROLL
      for (int i = 0; i < 4; ++i) x[k + i] = values::product(four[i], scale);
    }
  }

  template <class Call>
  CT_DEVICE static void by_unit(const BlocksArgs& a, const Call& call) {
    if (a.unit == 4) {
      call(std::uint32_t{});
    } else if (a.unit == 2) {
      call(std::uint16_t{});
    } else {
      call(std::uint8_t{});
    }
  }

  // The codes of all lines, from shared memory to where they belong or back: lanes follow a line.
  template <class T, class Ctx>
  CT_DEVICE static void move_codes(Ctx& ctx, const BlocksArgs& a, const Tile& tile, Starts starts,
                                   Codes codes) {
    constexpr int size = static_cast<int>(sizeof(T));
    constexpr int at_once = 4;  // lines, `warps` apart
    const int warp = thread_of(ctx) / 32;
    CT_NO_UNROLL
    for (int at = thread_of(ctx) % 32 * size; at < tile.bytes; at += 32 * size) {
      std::byte* const first = a.values + a.codes_at(tile.block, at);
      CT_NO_UNROLL
      for (int n = warp; n < tile.lines; n += warps * at_once) {
        const auto each = [&](const auto& visit) {
          CT_UNROLL
          for (int i = 0; i < at_once; ++i) {
            const int line = n + i * warps;
            const bool inside = line < tile.lines;
            visit(i, inside, first + ctx.load_if(inside, starts + (threads + line)),
                  cast<T>(codes + (line * tile.pitch + at)));
          }
        };
        T v[at_once];
        each([&](int i, bool inside, const std::byte* global, SharedPointer<T> shared) {
          v[i] = back ? ctx.load_if(inside, reinterpret_cast<const T*>(global))
                      : ctx.load_if(inside, shared);
        });
        each([&](int i, bool inside, std::byte* global, SharedPointer<T> shared) {
          back ? ctx.store_if(inside, shared, v[i])
               : ctx.store_if(inside, reinterpret_cast<T*>(global), v[i]);
        });
      }
    }
  }

  // The lane's values, zeros for those that are not there.
  template <class Ctx>
  CT_DEVICE static void load_plain(Ctx& ctx, const BlocksArgs& a, const Tile& tile, Starts starts,
                                   SharedPointer<float> numbers, float (&x)[side]) {
    const int lane = thread_of(ctx) % 32;
    const std::byte* from = a.plain + tile.own_block * side * a.plain_step;
    if constexpr (Element::known) {
      Raw raw[side];
      if (a.plain_across) {
        from += ctx.load(starts + (tile.group + lane));
        const int left = tile.inside ? tile.left : 0;
        CT_UNROLL
        for (int k = 0; k < side; ++k) {
          raw[k] = ctx.load_if(k < left, reinterpret_cast<const Raw*>(from));
          from += a.plain_step;
        }
        CT_UNROLL
        for (int k = 0; k < side; ++k) x[k] = Element::number(a, raw[k]);
        return;
      }
      from += lane * a.plain_step;
      const int left = lane < tile.left ? tile.lines - tile.group : 0;
      CT_UNROLL
      for (int n = 0; n < side; ++n) {
        const std::byte* const at = from + ctx.load(starts + (tile.group + n));
        raw[n] = ctx.load_if(n < left, reinterpret_cast<const Raw*>(at));
      }
      CT_UNROLL
      for (int n = 0; n < side; ++n) {
        ctx.store(numbers + Numbers::at(n, lane), Element::number(a, raw[n]));
      }
    } else {
      CT_NO_UNROLL
      for (int i = 0; i < side; ++i) {
        const Value value(a, tile, lane, i);
        const std::byte* const at =
            from + ctx.load(starts + (tile.group + value.line)) + value.k * a.plain_step;
        const Raw raw = ctx.load_if(value.inside, reinterpret_cast<const Raw*>(at));
        ctx.store(numbers + Numbers::at(value.line, value.k), Element::number(a, raw));
      }
    }
    ctx.warp_barrier();
    CT_UNROLL
    for (int k = 0; k < side; ++k) x[k] = ctx.load(numbers + Numbers::at(lane, k));
  }

  template <class Ctx>
  CT_DEVICE static void store_plain(Ctx& ctx, const BlocksArgs& a, const Tile& tile, Starts starts,
                                    SharedPointer<float> numbers, const float (&x)[side]) {
    const int lane = thread_of(ctx) % 32;
    std::byte* to = a.plain + tile.own_block * side * a.plain_step;
    if constexpr (Element::known) {
      if (a.plain_across) {
        to += ctx.load(starts + (tile.group + lane));
        const int left = tile.inside ? tile.left : 0;
        CT_UNROLL
        for (int k = 0; k < side; ++k) {
          ctx.store_if(k < left, reinterpret_cast<Raw*>(to), Element::element(a, x[k]));
          to += a.plain_step;
        }
        return;
      }
    }
    CT_UNROLL
    for (int k = 0; k < side; ++k) ctx.store(numbers + Numbers::at(lane, k), x[k]);
    ctx.warp_barrier();
    if constexpr (Element::known) {
      to += lane * a.plain_step;
      const int left = lane < tile.left ? tile.lines - tile.group : 0;
      CT_UNROLL
      for (int n = 0; n < side; ++n) {
        std::byte* const at = to + ctx.load(starts + (tile.group + n));
        const float product = ctx.load(numbers + Numbers::at(n, lane));
        ctx.store_if(n < left, reinterpret_cast<Raw*>(at), Element::element(a, product));
      }
    } else {
      CT_NO_UNROLL
      for (int i = 0; i < side; ++i) {
        const Value value(a, tile, lane, i);
        std::byte* const at =
            to + ctx.load(starts + (tile.group + value.line)) + value.k * a.plain_step;
        const float product = ctx.load(numbers + Numbers::at(value.line, value.k));
        ctx.store_if(value.inside, reinterpret_cast<Raw*>(at), Element::element(a, product));
      }
    }
  }

  // Which of the values of the warp's blocks a lane takes as number i.
  struct Value {
    int line;
    int k;
    bool inside;

    CT_DEVICE Value(const BlocksArgs& a, const Tile& tile, int lane, int i)
        : line(a.plain_across ? lane : i),
          k(a.plain_across ? i : lane),
          inside(tile.group + line < tile.lines && k < tile.left) {}
  };
};

template <class Visit>
void dispatch(const BlocksArgs& a, Visit&& visit) {
  const auto with_element = [&]<class Element>() {
    a.back ? visit.template operator()<AnyBlocks<Element, true>>()
           : visit.template operator()<AnyBlocks<Element, false>>();
  };
  switch (a.type.swapped ? Kind::bytes : a.type.kind) {
    case Kind::f32:
      return with_element.template operator()<KnownElement<float>>();
    case Kind::f16:
      return with_element.template operator()<KnownElement<values::F16>>();
    case Kind::bf16:
      return with_element.template operator()<KnownElement<values::BF16>>();
    default:
      break;
  }
  switch (a.plain_bytes) {
    case 1:
      return with_element.template operator()<AnyElement<1>>();
    case 2:
      return with_element.template operator()<AnyElement<2>>();
    case 4:
      return with_element.template operator()<AnyElement<4>>();
    default:
      return with_element.template operator()<AnyElement<8>>();
  }
}

}  // namespace cornerturn::kernels
