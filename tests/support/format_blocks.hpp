// Blocks of every format that has its scales in an array of their own, in any layout, made the
// obvious way: a block after the other, values rounded by a search among all that there are.
#pragma once

#include <cmath>
#include <limits>

#include "support/any_blocks.hpp"

namespace cornerturn::test {

/// All values of an element, by their codes; NaN and infinities are not finite.
inline std::vector<double> values_of(BlockElement element) {
  std::vector<double> all;
  if (element == BlockElement::e2m1) {
    for (const double sign : {1.0, -1.0}) {
      for (const double x : {0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0}) all.push_back(sign * x);
    }
    return all;
  }
  const int mantissa = element == BlockElement::e4m3 ? 3 : 2;
  const int bias = element == BlockElement::e4m3 ? 7 : 15;
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (int code = 0; code < 256; ++code) {
    const int exponent = (code & 127) >> mantissa, fraction = code & ((1 << mantissa) - 1);
    const double one = exponent == 0 ? 0 : 1;
    double x = std::ldexp(one + std::ldexp(fraction, -mantissa), std::max(exponent, 1) - bias);
    if (element == BlockElement::e4m3 ? (code & 127) == 127 : exponent == 31) x = nan;
    all.push_back(code < 128 ? x : -x);
  }
  return all;
}

/// The code of the nearest value, that with an even code of two; what is larger than all saturates.
inline int nearest_code(const std::vector<double>& all, double x) {
  const int half = static_cast<int>(all.size()) / 2;
  if (std::isnan(x)) return half == 8 ? 0 : std::isnan(all[126]) ? 126 : 127;  // as narrow() has it
  int best = 0;
  for (int code = 1; code < half; ++code) {
    if (std::isnan(all[static_cast<std::size_t>(code)])) continue;
    const double distance = std::abs(all[static_cast<std::size_t>(code)] - std::abs(x));
    const double least = std::abs(all[static_cast<std::size_t>(best)] - std::abs(x));
    if (std::isinf(x) || distance < least || (distance == least && code % 2 == 0)) best = code;
  }
  return best + (std::signbit(x) ? half : 0);
}

struct FormatCase {
  ElementType type{Kind::f32};
  Extents shape;
  BlockRule rule;
  BlockLayout layout;  // without strides
  float tensor_scale = 1;
  Side plain, values, scales;

  const BlockRow& row() const { return row_of(rule.format); }
  BlockLayout whole_layout() const {
    BlockLayout whole = layout;
    whole.value_strides = values.strides;
    whole.scale_strides = scales.strides;
    return whole;
  }
  std::string text() const {
    std::string out = type.name() + " " + std::string(row().name) + " axis " +
                      std::to_string(layout.axis) + " across " + std::to_string(layout.across) +
                      " order " + std::to_string(static_cast<int>(layout.order)) + " shape";
    for (const std::int64_t extent : shape) out += " " + std::to_string(extent);
    return out;
  }
  bool is_in_block(int mode) const { return mode == layout.axis || mode == layout.across; }
  /// Values that a block has along a mode.
  int of_block(int mode) const {
    return mode == layout.axis ? row().along : mode == layout.across ? row().across : 1;
  }
  Extents counted() const {
    Extents count = shape;
    for (int i = 0; i < static_cast<int>(shape.size()); ++i) {
      std::int64_t& extent = count[static_cast<std::size_t>(i)];
      extent = (extent + of_block(i) - 1) / of_block(i);
    }
    return count;
  }
};

/// Calls visit(index) for all indices of `shape`.
template <class Visit>
void for_indices(const Extents& shape, const Visit& visit) {
  Extents index(shape.size(), 0);
  for (;;) {
    visit(index);
    std::size_t i = shape.size();
    while (i > 0 && ++index[i - 1] == shape[i - 1]) index[--i] = 0;
    if (i == 0) return;
  }
}

/// Where the scale of block `index` lies: also those that fill up fours and tiles.
inline std::byte* scale_place(FormatCase& c, const Extents& index) {
  std::int64_t at = c.scales.first;
  for (std::size_t i = 0; i < index.size(); ++i) {
    const std::int64_t stride = c.scales.strides[i];
    const bool fours =
        c.layout.order != ScaleOrder::strided && static_cast<int>(i) == c.layout.axis;
    if (fours) {
      at += index[i] / 4 * stride + index[i] % 4;
    } else if (c.layout.order == ScaleOrder::tiles_128x4 &&
               static_cast<int>(i) == c.layout.across) {
      at += index[i] / 128 * stride + index[i] % 128 / 32 * 4 + index[i] % 32 * 16;
    } else {
      at += index[i] * stride;
    }
  }
  return c.scales.bytes.data() + at;
}

/// Where the value at `index` lies, and for 4 bits in which half.
inline std::byte* value_place(FormatCase& c, const Extents& index, bool& upper) {
  std::int64_t at = c.values.first;
  upper = false;
  for (std::size_t i = 0; i < index.size(); ++i) {
    const bool pairs = c.row().values_per_unit() == 2 && static_cast<int>(i) == c.layout.axis;
    if (pairs) upper = index[i] % 2 == 1;
    at += index[i] / (pairs ? 2 : 1) * c.values.strides[i];
  }
  return c.values.bytes.data() + at;
}

inline double loaded(const FormatCase& c, const Extents& index) {
  std::int64_t at = c.plain.first;
  for (std::size_t i = 0; i < index.size(); ++i) {
    if (index[i] >= c.shape[i]) return 0;
    at += index[i] * c.plain.strides[i];
  }
  double x = 0;
  values::with_kind(c.type.kind(), [&]<class T>(values::Type<T>) {
    if constexpr (!values::is_complex<T>) {
      x = static_cast<double>(values::convert<float>(
          loaded_in_order<T>(c.type, c.plain.bytes.data() + at), Overflow::standard));
    }
  });
  return x;
}

/// What a scale is as it is stored, and by what values are multiplied.
struct ObviousScale {
  std::uint32_t bits = 0;
  float inverse = 0;
};

inline ObviousScale obvious_scale(const FormatCase& c, double amax) {
  const BlockElement element = c.row().element;
  const double most = element == BlockElement::e4m3   ? 448
                      : element == BlockElement::e5m2 ? 57344
                                                      : 6;
  const float nan = std::numeric_limits<float>::quiet_NaN();
  if (c.row().scale == ScaleType::f32) {
    if (std::isnan(amax)) return {0x7fc00000U, nan};
    float scale = std::max(static_cast<float>(amax), 1e-4F) / static_cast<float>(most);
    if (c.rule.scale == BlockScale::ceil && std::isfinite(scale)) {
      int exponent = 0;
      scale = std::frexp(scale, &exponent) == 0.5F ? scale : std::ldexp(1.0F, exponent);
    }
    std::uint32_t bits = 0;
    std::memcpy(&bits, &scale, 4);
    return {bits, 1 / scale};
  }
  if (c.row().scale == ScaleType::e4m3) {
    if (std::isnan(amax) || std::isnan(c.tensor_scale)) return {127, 0};
    const float exact = static_cast<float>(amax) / 6.0F * c.tensor_scale;
    const std::vector<double> all = values_of(BlockElement::e4m3);
    const int code = nearest_code(all, static_cast<double>(exact));
    if (code == 0) return {0, 0};
    const float inverse = c.tensor_scale / static_cast<float>(all[static_cast<std::size_t>(code)]);
    return {static_cast<std::uint32_t>(code), std::min(inverse, std::numeric_limits<float>::max())};
  }
  if (std::isnan(amax)) return {255, nan};
  const int emax = element == BlockElement::e4m3 ? 8 : element == BlockElement::e5m2 ? 15 : 2;
  const int mantissa = element == BlockElement::e4m3 ? 3 : element == BlockElement::e5m2 ? 2 : 1;
  if (std::isinf(amax)) amax = std::ldexp(1.0, 128);
  int exponent = -127;
  if (amax > 0) {
    if (c.rule.scale == BlockScale::even && amax < std::ldexp(1.0, 128)) {
      // A half of the last bit that the values have, towards larger ones.
      amax += std::ldexp(1.0, std::max(std::ilogb(amax), -127) - mantissa - 1);
    }
    exponent = std::ilogb(amax) - emax;
    if (c.rule.scale == BlockScale::ceil) {
      exponent = static_cast<int>(std::ceil(std::log2(amax / most)));
      if (std::ldexp(most, exponent - 1) >= amax) --exponent;
      if (amax >= std::ldexp(1.0, 128)) exponent = 128 - emax;
    }
  }
  exponent = std::max(exponent, -127);
  return {static_cast<std::uint32_t>(exponent + 127), std::ldexp(1.0F, -exponent)};
}

inline void store_scale(FormatCase& c, const Extents& index, std::uint32_t bits) {
  std::memcpy(scale_place(c, index), &bits, static_cast<std::size_t>(c.row().scale_bytes()));
}

inline void store_code(FormatCase& c, const Extents& index, int code) {
  bool upper = false;
  std::byte* const at = value_place(c, index, upper);
  const bool halves = c.row().values_per_unit() == 2;
  if (upper) code = code << 4 | (static_cast<int>(*at) & 15);
  if (halves && !upper) code = code | (static_cast<int>(*at) & 0xf0);
  *at = static_cast<std::byte>(code);
}

/// Calls visit(index of the value) for all values of the block at `block`, those that fill it, too.
template <class Visit>
void for_values(const FormatCase& c, const Extents& block, const Visit& visit) {
  Extents first = block, size(block.size(), 1);
  for (int i = 0; i < static_cast<int>(block.size()); ++i) {
    const auto at = static_cast<std::size_t>(i);
    size[at] = c.of_block(i);
    first[at] *= size[at];
  }
  for_indices(size, [&](Extents index) {
    for (std::size_t i = 0; i < index.size(); ++i) index[i] += first[i];
    visit(index);
  });
}

/// The blocks of c.plain, in c.values and c.scales.
inline void quantise_obviously(FormatCase& c) {
  const std::vector<double> all = values_of(c.row().element);
  const Extents counted = c.counted();
  if (c.layout.order != ScaleOrder::strided) {
    Extents filled = counted;
    std::int64_t& along = filled[static_cast<std::size_t>(c.layout.axis)];
    along = (along + 3) / 4 * 4;
    if (c.layout.order == ScaleOrder::tiles_128x4) {
      std::int64_t& lines = filled[static_cast<std::size_t>(c.layout.across)];
      lines = (lines + 127) / 128 * 128;
    }
    for_indices(filled, [&](const Extents& index) { store_scale(c, index, 0); });
  }
  for_indices(counted, [&](const Extents& block) {
    double amax = 0;
    for_values(c, block, [&](const Extents& index) {
      const double x = std::abs(loaded(c, index));
      if (std::isnan(x) || x > amax) amax = std::isnan(amax) ? amax : x;
    });
    const ObviousScale scale = obvious_scale(c, amax);
    store_scale(c, block, scale.bits);
    for_values(c, block, [&](const Extents& index) {
      const float scaled = static_cast<float>(loaded(c, index)) * scale.inverse;
      store_code(c, index, nearest_code(all, static_cast<double>(scaled)));
    });
  });
}

/// What the blocks in c.values and c.scales hold, in c.plain.
inline void dequantise_obviously(FormatCase& c) {
  const std::vector<double> all = values_of(c.row().element);
  const std::vector<double> of_scales = values_of(BlockElement::e4m3);
  for_indices(c.shape, [&](const Extents& index) {
    Extents block = index;
    for (int i = 0; i < static_cast<int>(block.size()); ++i) {
      block[static_cast<std::size_t>(i)] /= c.of_block(i);
    }
    std::uint32_t bits = 0;
    std::memcpy(&bits, scale_place(c, block), static_cast<std::size_t>(c.row().scale_bytes()));
    float factor = std::numeric_limits<float>::quiet_NaN();
    if (c.row().scale == ScaleType::f32) std::memcpy(&factor, &bits, 4);
    if (c.row().scale == ScaleType::e4m3)
      factor = static_cast<float>(of_scales[bits]) / c.tensor_scale;
    if (c.row().scale == ScaleType::e8m0 && bits != 255) {
      factor = std::ldexp(1.0F, static_cast<int>(bits) - 127);
    }
    bool upper = false;
    const auto byte = static_cast<std::uint8_t>(*value_place(c, index, upper));
    const int code = c.row().values_per_unit() == 1 ? byte : upper ? byte >> 4 : byte & 15;
    const float x = static_cast<float>(all[static_cast<std::size_t>(code)]) * factor;
    std::int64_t at = c.plain.first;
    for (std::size_t i = 0; i < index.size(); ++i) at += index[i] * c.plain.strides[i];
    values::with_kind(c.type.kind(), [&]<class T>(values::Type<T>) {
      if constexpr (!values::is_complex<T>) {
        const float plain = std::isnan(x) ? std::numeric_limits<float>::quiet_NaN() : x;
        store_in_order(c.type, values::convert<T>(plain, Overflow::standard),
                       c.plain.bytes.data() + at);
      }
    });
  });
}

class RandomFormats : public RandomBlocks {
 public:
  using RandomBlocks::RandomBlocks;

  /// A case of a format whose scales lie in an array of their own.
  FormatCase next(BlockFormat format) {
    static constexpr Kind kinds[] = {Kind::f32, Kind::bf16, Kind::f16, Kind::f64};
    FormatCase c;
    c.type = ElementType(kinds[below(4)]);
    c.rule.format = format;
    c.rule.scale = c.row().standard_rule();
    const auto rule = static_cast<BlockScale>(below(4));
    if (c.row().takes(rule)) c.rule.scale = rule;
    if (c.row().scale == ScaleType::e4m3) c.tensor_scale = below(2) == 0 ? 1.0F : 37.7F;
    if (c.row().scale_bytes() == 1) c.layout.order = static_cast<ScaleOrder>(below(3));
    const bool lines = c.row().across > 1 || c.layout.order == ScaleOrder::tiles_128x4;
    const int rank = 1 + (lines ? 1 : 0) + below(2);
    c.layout.axis = below(rank);
    for (int i = 0; i < rank; ++i) c.shape.push_back(1 + below(4));
    if (lines) {
      c.layout.across = (c.layout.axis + 1 + below(rank - 1)) % rank;
      const int most = c.row().across > 1 ? 2 * c.row().across : 150;
      c.shape[static_cast<std::size_t>(c.layout.across)] = 1 + below(most);
    }
    c.shape[static_cast<std::size_t>(c.layout.axis)] =
        below(2) == 0 ? c.row().along * (1 + below(3)) : 1 + below(c.row().along * 5);
    c.plain = side(c.shape, c.type.size());
    fill(c);
    lay_out_blocks(c);
    return c;
  }

  /// Gives values and scales their memory, in any order of the axes.
  void lay_out_blocks(FormatCase& c) {
    Extents counted = c.counted(), units = counted;
    for (int i = 0; i < static_cast<int>(units.size()); ++i) {
      units[static_cast<std::size_t>(i)] *= c.of_block(i);
    }
    const auto axis = static_cast<std::size_t>(c.layout.axis);
    units[axis] /= c.row().values_per_unit();
    c.values = side(units, 1);
    int bytes = c.row().scale_bytes();
    if (c.layout.order != ScaleOrder::strided) {
      counted[axis] = (counted[axis] + 3) / 4;
      bytes = 4;
    }
    if (c.layout.order == ScaleOrder::tiles_128x4) {
      std::int64_t& lines = counted[static_cast<std::size_t>(c.layout.across)];
      lines = (lines + 127) / 128;
      bytes = 512;
    }
    c.scales = side(counted, bytes);
  }
};

}  // namespace cornerturn::test
