// Arrays of random layout and their blocks of 32, made the obvious way: one block after the other.
#pragma once

#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "core/blocks.hpp"
#include "core/buffers.hpp"
#include "core/problem.hpp"
#include "support/byte_order.hpp"
#include "values/blocks.hpp"
#include "values/types.hpp"

namespace cornerturn::test {

/// One side's memory, and where in it the element of all zeros lies.
struct Side {
  std::vector<std::byte> bytes;
  std::int64_t first = 0;
  Extents strides;
};

struct AnyBlocksCase {
  ElementType type{Kind::f32};
  Extents shape;
  int axis = 0;
  BlockRule rule;
  Side plain, values, scales;

  bool q8() const { return rule.format == values::BlockFormat::q8_0; }
  Problem problem(bool back) const {
    return block_problem(type, shape, plain.strides,
                         {rule, back, {axis, values.strides, scales.strides}, {}});
  }
  Buffers buffers(bool back, std::byte* to_plain, std::byte* to_values,
                  std::byte* to_scales) const {
    std::byte* const array = to_plain + plain.first;
    std::byte* const codes = to_values + values.first;
    const BlockBuffers others{q8() ? nullptr : to_scales + scales.first};
    return {back ? array : codes, back ? codes : array, {}, others};
  }
  std::string text() const {
    std::string out = type.name() + " format " + std::to_string(static_cast<int>(rule.format)) +
                      " axis " + std::to_string(axis) + " shape";
    for (const std::int64_t extent : shape) out += " " + std::to_string(extent);
    for (const Side* side : {&plain, &values, &scales}) {
      out += " |";
      for (const std::int64_t stride : side->strides) out += " " + std::to_string(stride);
    }
    return out;
  }
};

class RandomBlocks {
 public:
  explicit RandomBlocks(unsigned seed) : random_(seed) {}

  AnyBlocksCase next() {
    static constexpr Kind kinds[] = {Kind::f32,     Kind::f16,     Kind::bf16, Kind::f64,
                                     Kind::f8_e4m3, Kind::f8_e5m2, Kind::i8,   Kind::i16,
                                     Kind::i32,     Kind::i64,     Kind::u8,   Kind::boolean};
    AnyBlocksCase c;
    // The first three most of the time: they have kernels of their own.
    c.type = ElementType(kinds[below(2) == 0 ? below(3) : below(12)]);
    if (below(4) == 0) c.type = c.type.swapped();
    c.rule = {static_cast<values::BlockFormat>(below(3)),
              static_cast<values::BlockScale>(below(2))};
    const int rank = 1 + below(4);
    c.axis = below(rank);
    for (int i = 0; i < rank; ++i) c.shape.push_back(1 + below(i == 1 ? 40 : 7));
    c.shape[static_cast<std::size_t>(c.axis)] = below(2) == 0 ? 32 * (1 + below(3)) : 1 + below(90);
    lay_out(c);
    return c;
  }

  /// Gives a case of some type, shape, axis and rule its memory, in any order of the axes.
  void lay_out(AnyBlocksCase& c) {
    Extents counted = c.shape, whole = c.shape;
    std::int64_t& blocks = counted[static_cast<std::size_t>(c.axis)];
    blocks = (blocks + 31) / 32;
    whole[static_cast<std::size_t>(c.axis)] = 32 * blocks;
    c.plain = side(c.shape, c.type.size());
    c.values = c.q8() ? side(counted, 34) : side(whole, 1);
    if (!c.q8()) c.scales = side(counted, 1);
    fill(c);
  }

 protected:
  int below(int n) { return static_cast<int>(random_() % static_cast<unsigned>(n)); }

  Side side(const Extents& shape, std::int64_t size) {
    std::vector<std::size_t> order(shape.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    for (std::size_t i = order.size(); i > 1; --i) {
      std::swap(order[i - 1], order[static_cast<std::size_t>(below(static_cast<int>(i)))]);
    }
    Side made;
    made.strides.resize(shape.size());
    std::int64_t stride = size * (1 + below(2) * below(2));
    for (const std::size_t i : order) {
      const bool down = below(5) == 0;
      made.strides[i] = down ? -stride : stride;
      if (down) made.first += (shape[i] - 1) * stride;
      stride = stride * shape[i] + (below(4) == 0 ? size * below(4) : 0);
    }
    made.bytes.resize(static_cast<std::size_t>(stride), std::byte{0xa5});
    return made;
  }

  // Values of every size; now and then zeros alone, infinities and NaNs.
  template <class Case>
  void fill(Case& c) {
    const std::int64_t size = c.type.size();
    const int how = below(8);
    for (std::size_t at = 0; at + static_cast<std::size_t>(size) <= c.plain.bytes.size();
         at += static_cast<std::size_t>(size)) {
      values::with_kind(c.type.kind(), [&]<class T>(values::Type<T>) {
        if constexpr (!values::is_complex<T>) {
          double x = (static_cast<double>(random_()) / 2147483648.0 - 1) * (how % 2 == 0 ? 100 : 3);
          if (how == 5) x *= 1e-40;
          if (how == 6 && below(60) == 0) x = 1e300;
          if (how == 7 && below(60) == 0) x = values::bits_as<double>(values::f64_nan);
          if (how == 4 && at / 128 % 2 == 0) x = 0;
          store_in_order(c.type, values::convert<T>(x, Overflow::standard),
                         c.plain.bytes.data() + at);
        }
      });
    }
  }

 private:
  std::mt19937 random_;
};

/// Calls visit(offsets of a line's first value in plain, values and scales) for all lines.
template <class Visit>
void for_lines(const AnyBlocksCase& c, const Visit& visit) {
  std::int64_t lines = 1;
  for (std::size_t i = 0; i < c.shape.size(); ++i) {
    if (static_cast<int>(i) != c.axis) lines *= c.shape[i];
  }
  for (std::int64_t line = 0; line < lines; ++line) {
    std::int64_t rest = line, plain = c.plain.first, values = c.values.first,
                 scales = c.scales.first;
    for (std::size_t i = 0; i < c.shape.size(); ++i) {
      if (static_cast<int>(i) == c.axis) continue;
      const std::int64_t index = rest % c.shape[i];
      rest /= c.shape[i];
      plain += index * c.plain.strides[i];
      values += index * c.values.strides[i];
      if (!c.q8()) scales += index * c.scales.strides[i];
    }
    visit(plain, values, scales);
  }
}

/// The blocks of c.plain, in c.values and c.scales.
inline void quantise_obviously(AnyBlocksCase& c) {
  const auto axis = static_cast<std::size_t>(c.axis);
  const auto put = [](Side& side, std::int64_t at, const auto& value) {
    std::memcpy(side.bytes.data() + at, &value, sizeof value);
  };
  for_lines(c, [&](std::int64_t plain, std::int64_t values, std::int64_t scales) {
    for (std::int64_t block = 0; 32 * block < c.shape[axis]; ++block) {
      float x[32] = {};
      std::uint32_t amax = 0;
      for (int k = 0; k < 32 && 32 * block + k < c.shape[axis]; ++k) {
        values::with_kind(c.type.kind(), [&]<class T>(values::Type<T>) {
          if constexpr (!values::is_complex<T>) {
            const T element = loaded_in_order<T>(
                c.type, c.plain.bytes.data() + plain + (32 * block + k) * c.plain.strides[axis]);
            x[k] = values::convert<float>(element, Overflow::standard);
          }
        });
        amax = std::max(amax, values::magnitude_of(x[k]));
      }
      const auto mx = [&]<class T>(T) {
        const std::uint8_t code = values::mx_scale<T>(amax, c.rule.scale);
        put(c.scales, scales + block * c.scales.strides[axis], code);
        for (int k = 0; k < 32; ++k) {
          put(c.values, values + (32 * block + k) * c.values.strides[axis],
              values::mx_value<T>(x[k], values::mx_inverse(code)));
        }
      };
      if (c.q8()) {
        const values::Q8Scale scale = values::q8_scale(amax);
        values::Q8Block made{scale.stored, {}};
        for (int k = 0; k < 32; ++k) made.values[k] = values::q8_value(x[k], scale.inverse);
        put(c.values, values + block * c.values.strides[axis], made);
      } else if (c.rule.format == values::BlockFormat::mxfp8_e4m3) {
        mx(values::E4M3{});
      } else {
        mx(values::E5M2{});
      }
    }
  });
}

/// What the blocks in c.values and c.scales hold, in c.plain.
inline void dequantise_obviously(AnyBlocksCase& c) {
  const auto axis = static_cast<std::size_t>(c.axis);
  for_lines(c, [&](std::int64_t plain, std::int64_t values, std::int64_t scales) {
    for (std::int64_t i = 0; i < c.shape[axis]; ++i) {
      float x = 0;
      if (c.q8()) {
        values::Q8Block block;
        std::memcpy(&block, c.values.bytes.data() + values + i / 32 * c.values.strides[axis],
                    sizeof block);
        x = values::q8_dequantised(block.values[i % 32], block.scale);
      } else {
        const auto code = static_cast<std::uint8_t>(
            c.values.bytes[static_cast<std::size_t>(values + i * c.values.strides[axis])]);
        const auto scale = static_cast<std::uint8_t>(
            c.scales.bytes[static_cast<std::size_t>(scales + i / 32 * c.scales.strides[axis])]);
        x = c.rule.format == values::BlockFormat::mxfp8_e4m3
                ? values::mx_dequantised(values::E4M3{code}, scale)
                : values::mx_dequantised(values::E5M2{code}, scale);
      }
      values::with_kind(c.type.kind(), [&]<class T>(values::Type<T>) {
        if constexpr (!values::is_complex<T>) {
          store_in_order(c.type, values::convert<T>(x, Overflow::standard),
                         c.plain.bytes.data() + plain + i * c.plain.strides[axis]);
        }
      });
    }
  });
}

}  // namespace cornerturn::test
