// Blocks in a stage, where values are f32: their codes and scales, and back.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "core/blocks.hpp"
#include "values/blocks.hpp"
#include "values/stochastic.hpp"

namespace cornerturn::cpu {

/// A block in a stage, in elements: `along` values, then the next of `across` lines.
struct StagedBlock {
  int along;
  int across;
  std::int64_t line_step;  ///< from one line to the next

  std::int64_t line(int r) const { return r * line_step; }
};

inline std::uint32_t largest_of(const float* x, const StagedBlock& block) {
  std::uint32_t amax = 0;
  for (int r = 0; r < block.across; ++r) {
    const float* const line = x + block.line(r);
    for (int k = 0; k < block.along; ++k) amax = std::max(amax, values::magnitude_of(line[k]));
  }
  return amax;
}

template <class T>
values::StoredScale block_scale(const BlockRow& row, BlockScale rule, std::uint32_t amax,
                                float tensor_scale) {
  switch (row.scale) {
    case ScaleType::f32:
      return values::f32_scale<T>(amax, rule);
    case ScaleType::e4m3:
      return values::nvfp4_scale(amax, tensor_scale);
    case ScaleType::e8m0:
    case ScaleType::inside:
      break;
  }
  const std::uint8_t code = values::mx_scale<T>(amax, rule);
  return {code, values::mx_inverse(code)};
}

/// By what values of a block are multiplied that come back.
inline float block_factor(const BlockRow& row, std::uint32_t stored, float tensor_scale) {
  switch (row.scale) {
    case ScaleType::f32:
      return values::bits_as<float>(stored);
    case ScaleType::e4m3:
      return values::nvfp4_factor(static_cast<std::uint8_t>(stored), tensor_scale);
    case ScaleType::e8m0:
    case ScaleType::inside:
      break;
  }
  return values::e8m0(static_cast<std::uint8_t>(stored));
}

/// The bits of a scale, of which `bytes` are stored.
inline void put_scale(std::byte* at, std::uint32_t bits, int bytes) {
  if (bytes == 1) {
    *at = static_cast<std::byte>(bits);
  } else {
    std::memcpy(at, &bits, sizeof bits);
  }
}
inline std::uint32_t get_scale(const std::byte* at, int bytes) {
  if (bytes == 1) return static_cast<std::uint32_t>(*at);
  std::uint32_t bits = 0;
  std::memcpy(&bits, at, sizeof bits);
  return bits;
}

/// Puts the codes of a line of a block where codes of its stage lie; value_at(k, inverse) is the
/// k-th as it is stored.
template <class T, class ValueAt>
void put_codes(std::byte* codes, int along, const ValueAt& value_at) {
  if constexpr (std::is_same_v<T, values::E2M1>) {
    for (int k = 0; k < along; k += 2) {
      const int pair = value_at(k).bits | value_at(k + 1).bits << 4;
      codes[k / 2] = static_cast<std::byte>(pair);
    }
  } else {
    for (int k = 0; k < along; ++k) codes[k] = static_cast<std::byte>(value_at(k).bits);
  }
}

/// The k-th value of a line of codes.
template <class T>
T code_at(const std::byte* codes, std::int64_t k) {
  if constexpr (std::is_same_v<T, values::E2M1>) {
    const auto pair = static_cast<unsigned>(codes[k / 2]);
    return T{static_cast<std::uint8_t>(pair >> 4 * (k % 2) & 15U)};
  } else {
    return T{static_cast<std::uint8_t>(codes[k])};
  }
}

/// Blocks whose scale is inside: `row.along` values become `row.packed_bytes`, and back.
void encode_packed(BlockFormat format, const float* x, std::byte* block);
void decode_packed(BlockFormat format, const std::byte* block, float* x);

}  // namespace cornerturn::cpu
