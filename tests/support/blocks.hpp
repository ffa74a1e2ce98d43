// Quantisation to blocks of 32, the obvious way: one line of the result after the other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "core/problem.hpp"
#include "values/blocks.hpp"

namespace cornerturn::test {

struct QuantisedLines {
  std::vector<std::byte> values;
  std::vector<std::byte> scales;
};

/// The problem of making packed blocks of a matrix whose rows lie `pitch` bytes apart, along its
/// rows, along its columns, or both: then those along the columns are the second result.
inline Problem matrix_problem(Kind kind, const BlockRule& rule, std::int64_t rows,
                              std::int64_t cols, std::int64_t pitch, bool along_rows,
                              bool along_cols) {
  const bool q8 = rule.format == BlockFormat::q8_0;
  const auto count = [](std::int64_t length) { return (length + 31) / 32; };
  const auto line = [&](std::int64_t length) { return count(length) * (q8 ? 34 : 32); };
  const std::int64_t unit = q8 ? 34 : 1;
  BlockLayout of_rows{1, {line(cols), unit}, {count(cols), 1}};
  BlockLayout of_cols{0, {unit, line(rows)}, {1, count(rows)}};
  if (q8) of_rows.scale_strides = of_cols.scale_strides = {};
  Blocks blocks{rule, false, along_rows ? of_rows : of_cols, {}};
  if (along_rows && along_cols) blocks.second = of_cols;
  const ElementType type(kind);
  return block_problem(type, {rows, cols}, {pitch, type.size()}, blocks);
}

/// `lines` lines of `length` values each, the value k of line i being at(i, k).
template <class At>
QuantisedLines quantised_lines(BlockFormat format, values::BlockScale rule, std::int64_t lines,
                               std::int64_t length, const At& at) {
  QuantisedLines out;
  const auto push = [](std::vector<std::byte>& to, const auto& value) {
    const auto* bytes = reinterpret_cast<const std::byte*>(&value);
    to.insert(to.end(), bytes, bytes + sizeof(value));
  };
  const auto mx = [&]<class T>(const float* x, std::uint32_t amax, T) {
    const std::uint8_t code = values::mx_scale<T>(amax, rule);
    push(out.scales, code);
    for (int i = 0; i < 32; ++i)
      push(out.values, values::mx_value<T>(x[i], values::mx_inverse(code)));
  };
  for (std::int64_t line = 0; line < lines; ++line) {
    for (std::int64_t first = 0; first < length; first += 32) {
      float x[32];
      std::uint32_t amax = 0;
      for (int i = 0; i < 32; ++i) {
        x[i] = at(line, first + i);
        amax = std::max(amax, values::magnitude_of(x[i]));
      }
      if (format == BlockFormat::q8_0) {
        const values::Q8Scale scale = values::q8_scale(amax);
        push(out.values, scale.stored.bits);
        for (const float value : x) push(out.values, values::q8_value(value, scale.inverse));
      } else if (format == BlockFormat::mxfp8_e4m3) {
        mx(x, amax, values::E4M3{});
      } else {
        mx(x, amax, values::E5M2{});
      }
    }
  }
  return out;
}

/// Elements of a matrix as bits: blocks of every size of value, zeros, infinities, NaNs.
inline std::vector<std::byte> values_for_blocks(Kind kind, std::int64_t count) {
  std::vector<std::byte> out;
  std::uint64_t state = 5;
  for (std::int64_t i = 0; i < count; ++i) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    const auto random = static_cast<std::uint32_t>(state >> 32);
    float x = static_cast<float>(static_cast<std::int32_t>(random)) * 0x1p-31F;
    const auto region = (i / 1000) % 7;
    if (region == 1) x *= 1e30F;
    if (region == 2) x *= 1e-36F;
    if (region == 3) x *= 500.0F;
    if (region == 4) x = 0;
    if (region == 5 && random % 199 == 0) x = values::bits_as<float>(values::f32_nan);
    if (region == 6 && random % 211 == 0) x = values::bits_as<float>(values::f32_infinity);
    values::with_kind(kind, [&]<class S>(values::Type<S>) {
      if constexpr (values::is_float<S>) {
        const S value = values::convert<S>(x, Overflow::standard);
        const auto* bytes = reinterpret_cast<const std::byte*>(&value);
        out.insert(out.end(), bytes, bytes + sizeof(value));
      }
    });
  }
  return out;
}

inline float value_at(Kind kind, const std::byte* p) {
  float x = 0;
  values::with_kind(kind, [&]<class S>(values::Type<S>) {
    if constexpr (values::is_float<S>) {
      S value;
      std::memcpy(&value, p, sizeof(S));
      x = values::convert<float>(value, Overflow::standard);
    }
  });
  return x;
}

}  // namespace cornerturn::test
