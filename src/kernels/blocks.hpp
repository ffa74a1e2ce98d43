// blocks: an array of any strides becomes blocks of 32 values that share a scale, or is made of
// them. A thread block takes one block of 32 lines at a time. Between the sides values wait in
// shared memory, so that the lanes of each side follow what lies next to each other there.
#pragma once

#include <cstdint>

#include "kernels/casts.hpp"
#include "kernels/walk.hpp"
#include "maps/tile_maps.hpp"
#include "values/blocks.hpp"

namespace cornerturn::kernels {

using values::BlockFormat;

/// A mode other than that of the blocks, and the bytes that a step in it moves.
struct LineAxis {
  FastDivide64 count;
  std::int64_t plain_step = 0;
  std::int64_t value_step = 0;
  std::int64_t scale_step = 0;
};

/// Where a line begins, in bytes.
struct LineStart {
  std::int64_t plain = 0;
  std::int64_t values = 0;
  std::int64_t scales = 0;
};

struct BlocksArgs {
  std::byte* plain = nullptr;  ///< only read where it is quantised
  std::byte* values = nullptr;
  std::byte* scales = nullptr;  ///< of MXFP8
  Kind kind = Kind::f32;
  int plain_bytes = 4;  ///< of an element
  BlockFormat format = BlockFormat::q8_0;
  values::MxScale rule = values::MxScale::floor;
  bool back = false;            ///< dequantise
  bool plain_across = false;    ///< lanes of the array take neighbouring lines
  bool values_across = false;   ///< so do those of the blocks
  std::int64_t length = 0;      ///< of a line, in values; zeros fill its last block
  std::int64_t plain_step = 0;  ///< from a value to the next
  std::int64_t value_step = 0;  ///< from an 8-bit value, or a block of q8_0, to the next
  std::int64_t scale_step = 0;
  std::int64_t lines = 0;
  std::int64_t tiles = 0;
  FastDivide64 tiles_fast;  ///< tiles that follow each other: along the lines, or across them
  int rank = 0;
  LineAxis axis[max_axes];

  CT_HOST_DEVICE constexpr LineStart line(std::int64_t number) const {
    auto n = static_cast<std::uint64_t>(number);
    LineStart at;
    for (int i = 0; i < rank; ++i) {
      const std::uint64_t rest = axis[i].count.quotient(n);
      const auto index = static_cast<std::int64_t>(n - rest * axis[i].count.divisor);
      at.plain += index * axis[i].plain_step;
      at.values += index * axis[i].value_step;
      at.scales += index * axis[i].scale_step;
      n = rest;
    }
    return at;
  }
  /// Of value `k` of a block, from where its line begins.
  CT_HOST_DEVICE constexpr std::int64_t value_at(std::int64_t block, int k) const {
    return format == BlockFormat::q8_0 ? block * value_step + 2 + k
                                       : (block * values::block_size + k) * value_step;
  }
};

/// Elements of one type.
template <class S>
struct KnownElement {
  using Raw = Bits<S>;
  CT_DEVICE static float number(const BlocksArgs&, Raw raw) {
    return values::convert<float>(values::bits_as<S>(raw), Overflow::standard);
  }
  CT_DEVICE static Raw element(const BlocksArgs&, float x) {
    return values::bits_as<Raw>(values::convert<S>(x, Overflow::standard));
  }
};

/// Elements of one size.
template <int size>
struct AnyElement {
  using Raw = typename BitsOf<size>::type;
  CT_DEVICE static float number(const BlocksArgs& a, Raw raw) {
    const AnyValueArgs change{a.kind, Kind::f32};
    return values::bits_as<float>(any_value<std::uint32_t>(change, raw, 0, 0, 0, 0));
  }
  CT_DEVICE static Raw element(const BlocksArgs& a, float x) {
    const AnyValueArgs change{Kind::f32, a.kind};
    return any_value<Raw>(change, values::bits_as<std::uint32_t>(x), 0, 0, Raw{}, 0);
  }
};

template <class Element, bool back>
struct AnyBlocks {
  using Raw = typename Element::Raw;
  static constexpr int side = values::block_size;
  static constexpr int threads = 256;
  static constexpr int min_blocks = 4;
  static constexpr int of_thread = side * side / threads;
  using Numbers = Padded<side, side, 1>;  // of f32: neither rows nor columns share banks
  using Codes = Padded<side, side, 4>;    // of bytes: so do they not
  static constexpr int number_span = static_cast<int>(Numbers::required_span_size());
  static constexpr int code_span = static_cast<int>(Codes::required_span_size());

  template <class Ctx>
  CT_DEVICE static void run(Ctx& ctx, const BlocksArgs& a) {
    const auto numbers = ctx.template shared<float, number_span, 0>();
    const auto codes = ctx.template shared<std::uint8_t, code_span, 1>();
    const auto starts = ctx.template shared<std::int64_t, 3 * side, 2>();
    for (std::int64_t tile = ctx.block_id().x; tile < a.tiles; tile += ctx.grid_dim().x) {
      const auto slow =
          static_cast<std::int64_t>(a.tiles_fast.quotient(static_cast<std::uint64_t>(tile)));
      const std::int64_t fast = tile - slow * static_cast<std::int64_t>(a.tiles_fast.divisor);
      const std::int64_t line0 = (a.plain_across ? fast : slow) * side;
      const std::int64_t block = a.plain_across ? slow : fast;
      ctx.barrier();  // the tile before has been stored
      if (thread_of(ctx) < side) {
        const std::int64_t line = line0 + thread_of(ctx);
        const LineStart at = a.line(line < a.lines ? line : 0);
        ctx.store(starts + thread_of(ctx), at.plain);
        ctx.store(starts + (side + thread_of(ctx)), at.values);
        ctx.store(starts + (2 * side + thread_of(ctx)), at.scales);
      }
      ctx.barrier();
      if constexpr (back) {
        load_codes(ctx, a, line0, block, starts, numbers);
        ctx.barrier();
        store_plain(ctx, a, line0, block, starts, numbers);
      } else {
        load_plain(ctx, a, line0, block, starts, numbers);
        ctx.barrier();
        encode(ctx, a, line0, block, starts, numbers, codes);
        ctx.barrier();
        store_codes(ctx, a, line0, block, starts, codes);
      }
    }
  }

 private:
  using Starts = SharedPointer<std::int64_t>;

  // visit(line, k) for this thread's values of the tile; `across`: neighbouring lanes take
  // neighbouring lines.
  template <class Ctx, class Visit>
  CT_DEVICE static void for_values(Ctx& ctx, bool across, const Visit& visit) {
    CT_UNROLL
    for (int i = 0; i < of_thread; ++i) {
      const int n = thread_of(ctx) + i * threads;
      visit(across ? n % side : n / side, across ? n / side : n % side);
    }
  }

  template <class Ctx>
  CT_DEVICE static void load_plain(Ctx& ctx, const BlocksArgs& a, std::int64_t line0,
                                   std::int64_t block, Starts starts,
                                   SharedPointer<float> numbers) {
    for_values(ctx, a.plain_across, [&](int line, int k) {
      const std::int64_t place = block * side + k;
      const bool inside = line0 + line < a.lines && place < a.length;
      const std::byte* const from = a.plain + ctx.load(starts + line) + place * a.plain_step;
      const Raw raw = ctx.load_if(inside, reinterpret_cast<const Raw*>(from));
      ctx.store(numbers + Numbers::at(line, k), inside ? Element::number(a, raw) : 0.0F);
    });
  }

  template <class Ctx>
  CT_DEVICE static void store_plain(Ctx& ctx, const BlocksArgs& a, std::int64_t line0,
                                    std::int64_t block, Starts starts,
                                    SharedPointer<float> numbers) {
    for_values(ctx, a.plain_across, [&](int line, int k) {
      const std::int64_t place = block * side + k;
      const bool inside = line0 + line < a.lines && place < a.length;
      std::byte* const to = a.plain + ctx.load(starts + line) + place * a.plain_step;
      const float x = ctx.load(numbers + Numbers::at(line, k));
      ctx.store_if(inside, reinterpret_cast<Raw*>(to), Element::element(a, x));
    });
  }

  // A warp takes whole lines: the scale, and the values with it.
  template <class Ctx>
  CT_DEVICE static void encode(Ctx& ctx, const BlocksArgs& a, std::int64_t line0,
                               std::int64_t block, Starts starts, SharedPointer<float> numbers,
                               SharedPointer<std::uint8_t> codes) {
    const int k = thread_of(ctx) % side;
    CT_UNROLL
    for (int line = thread_of(ctx) / side; line < side; line += threads / side) {
      const bool inside = line0 + line < a.lines;
      const float x = ctx.load(numbers + Numbers::at(line, k));
      std::uint32_t most = values::magnitude_of(x);
      CT_UNROLL
      for (int mask = 1; mask < side; mask *= 2) {
        const std::uint32_t other = ctx.shuffle_xor(most, mask);
        most = other > most ? other : most;
      }
      std::uint8_t code = 0;
      if (a.format == BlockFormat::q8_0) {
        const values::Q8Scale scale = values::q8_scale(most);
        code = static_cast<std::uint8_t>(values::q8_value(x, scale.inverse));
        std::byte* const to =
            a.values + ctx.load(starts + (side + line)) + block * a.value_step + k;
        ctx.store_if(inside && k < 2, reinterpret_cast<std::uint8_t*>(to),
                     static_cast<std::uint8_t>(scale.stored.bits >> (8 * (k % 2))));
      } else {
        const bool e4m3 = a.format == BlockFormat::mx_e4m3;
        const std::uint8_t scale = e4m3 ? values::mx_scale<values::E4M3>(most, a.rule)
                                        : values::mx_scale<values::E5M2>(most, a.rule);
        const float inverse = values::mx_inverse(scale);
        code = e4m3 ? values::mx_value<values::E4M3>(x, inverse).bits
                    : values::mx_value<values::E5M2>(x, inverse).bits;
        std::byte* const to =
            a.scales + ctx.load(starts + (2 * side + line)) + block * a.scale_step;
        ctx.store_if(inside && k == 0, reinterpret_cast<std::uint8_t*>(to), scale);
      }
      ctx.store(codes + Codes::at(line, k), code);
    }
  }

  template <class Ctx>
  CT_DEVICE static void store_codes(Ctx& ctx, const BlocksArgs& a, std::int64_t line0,
                                    std::int64_t block, Starts starts,
                                    SharedPointer<std::uint8_t> codes) {
    for_values(ctx, a.values_across, [&](int line, int k) {
      std::byte* const to = a.values + ctx.load(starts + (side + line)) + a.value_at(block, k);
      ctx.store_if(line0 + line < a.lines, reinterpret_cast<std::uint8_t*>(to),
                   ctx.load(codes + Codes::at(line, k)));
    });
  }

  template <class Ctx>
  CT_DEVICE static void load_codes(Ctx& ctx, const BlocksArgs& a, std::int64_t line0,
                                   std::int64_t block, Starts starts,
                                   SharedPointer<float> numbers) {
    for_values(ctx, a.values_across, [&](int line, int k) {
      const bool inside = line0 + line < a.lines;
      const auto byte = [&](const std::byte* at) {
        return ctx.load_if(inside, reinterpret_cast<const std::uint8_t*>(at));
      };
      const std::byte* const from = a.values + ctx.load(starts + (side + line));
      const std::uint8_t code = byte(from + a.value_at(block, k));
      float x = 0;
      if (a.format == BlockFormat::q8_0) {
        const std::byte* const scale = from + block * a.value_step;
        const auto bits = static_cast<std::uint16_t>(byte(scale) | byte(scale + 1) << 8);
        x = values::q8_dequantised(static_cast<std::int8_t>(code), values::F16{bits});
      } else {
        const std::int64_t scales = ctx.load(starts + (2 * side + line));
        const std::uint8_t scale = byte(a.scales + scales + block * a.scale_step);
        x = a.format == BlockFormat::mx_e4m3 ? values::mx_dequantised(values::E4M3{code}, scale)
                                             : values::mx_dequantised(values::E5M2{code}, scale);
      }
      ctx.store(numbers + Numbers::at(line, k), x);
    });
  }
};

template <class Visit>
void dispatch(const BlocksArgs& a, Visit&& visit) {
  const auto with_element = [&]<class Element>() {
    a.back ? visit.template operator()<AnyBlocks<Element, true>>()
           : visit.template operator()<AnyBlocks<Element, false>>();
  };
  switch (a.kind) {
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
