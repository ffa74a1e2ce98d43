// 16 bytes that begin anywhere, out of two neighbouring vectors; and vectors at the ends of a
// buffer, of which not every byte may be read.
#pragma once

#include <cstdint>

#include "kernels/context.hpp"

namespace cornerturn::kernels {

using Words = Vec<std::uint32_t, 4>;

/// Bytes shift ... shift + 15 of (low, high), for a shift below 16 that is a multiple of `step`.
template <int step>
CT_DEVICE Words funnel(const Words& low, const Words& high, unsigned shift) {
  std::uint32_t w[8];
  CT_UNROLL
  for (int i = 0; i < 4; ++i) {
    w[i] = low[i];
    w[i + 4] = high[i];
  }
  if constexpr (step <= 8) {
    const bool two_words = (shift & 8) != 0;
    CT_UNROLL
    for (int i = 0; i < 6; ++i) w[i] = two_words ? w[i + 2] : w[i];
  }
  if constexpr (step <= 4) {
    const bool one_word = (shift & 4) != 0;
    CT_UNROLL
    for (int i = 0; i < 5; ++i) w[i] = one_word ? w[i + 1] : w[i];
  }
  if constexpr (step < 4) {
    const std::uint32_t selector = 0x3210U + 0x1111U * (shift & 3U);
    CT_UNROLL
    for (int i = 0; i < 4; ++i) w[i] = byte_permute(w[i], w[i + 1], selector);
  }
  return {w[0], w[1], w[2], w[3]};
}

/// The bytes of a buffer that may be read.
struct Span {
  const std::byte* low = nullptr;
  const std::byte* high = nullptr;

  CT_HOST_DEVICE bool holds(const std::byte* vector) const {
    return vector >= low && vector + 16 <= high;
  }
};

/// All bytes moved up by an element, which then is the lowest.
template <class T>
CT_DEVICE Words pushed(const Words& w, T value) {
  if constexpr (sizeof(T) == 8) {
    return {static_cast<std::uint32_t>(value), static_cast<std::uint32_t>(value >> 32), w[0], w[1]};
  } else if constexpr (sizeof(T) == 4) {
    return {value, w[0], w[1], w[2]};
  } else {
    constexpr int bits = 8 * static_cast<int>(sizeof(T));
    Words up;
    up[0] = w[0] << bits | value;
    CT_UNROLL
    for (int i = 1; i < 4; ++i) up[i] = w[i] << bits | w[i - 1] >> (32 - bits);
    return up;
  }
}

/// The element in the lowest bytes.
template <class T>
CT_DEVICE T lowest(const Words& w) {
  if constexpr (sizeof(T) == 8) {
    return static_cast<T>(w[1]) << 32 | w[0];
  } else {
    return static_cast<T>(w[0]);
  }
}

/// The vector at `from`, a multiple of 16, of which only elements inside the span are read.
template <class T, class Ctx>
CT_DEVICE Words load_inside(Ctx& ctx, bool active, const std::byte* from, const Span& span) {
  const bool whole = span.holds(from);
  Words words = ctx.load_if(active && whole, reinterpret_cast<const Words*>(from));
  if constexpr (sizeof(T) < 16) {
    if (active && !whole) {
      // Elements from the last to the first, each pushed in at the bottom.
      constexpr int size = static_cast<int>(sizeof(T));
      CT_NO_UNROLL
      for (int at = 16 - size; at >= 0; at -= size) {
        const std::byte* element = from + at;
        const bool inside = element >= span.low && element + size <= span.high;
        const T value = ctx.load_if(inside, reinterpret_cast<const T*>(element));
        words = pushed(words, value);
      }
    }
  }
  return words;
}

}  // namespace cornerturn::kernels
