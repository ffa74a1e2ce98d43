// Transposes a block of V x V elements (V = 16 bytes / element) that lies in registers: R rows, 16
// bytes each, in each of Q = V / R lanes. Swapping bit s of the row number with bit s of the column
// number, for each s, transposes the block; each swap exchanges the off-diagonal quarters of
// squares of 2 s elements:
//
//   s < R    rows i and i + s are in one lane: whole words only change names, bytes are permuted
//   s >= R   rows are in two lanes, and the quarters whole words: one shuffle a word
#pragma once

#include "workshop/rungs/matrix.hpp"

namespace cornerturn::ladder {

namespace detail {

using Words = Vec<std::uint32_t, 4>;

// Swaps within a lane: the upper right of rows i with the lower left of rows i + s.
template <int s, int bytes, int R>
CT_DEVICE void swap_rows(Words (&w)[R]) {
  CT_UNROLL
  for (int i = 0; i < R; ++i) {
    if ((i & s) != 0) continue;
    CT_UNROLL
    for (int k = 0; k < 4; ++k) {
      if constexpr (bytes >= 4) {
        if ((k & (bytes / 4)) != 0) continue;
        const std::uint32_t upper = w[i][k | (bytes / 4)];
        w[i][k | (bytes / 4)] = w[i + s][k];
        w[i + s][k] = upper;
      } else {
        const std::uint32_t upper = w[i][k];
        const std::uint32_t lower = w[i + s][k];
        w[i][k] = byte_permute(upper, lower, bytes == 2 ? 0x5410 : 0x6240);
        w[i + s][k] = byte_permute(upper, lower, bytes == 2 ? 0x7632 : 0x7351);
      }
    }
  }
}

// Swaps with the lane `mask` away: `upper` is the one with the higher rows.
template <int words, int R, class Ctx>
CT_DEVICE void swap_lanes(Ctx& ctx, Words (&w)[R], int mask, bool upper) {
  CT_UNROLL
  for (int i = 0; i < R; ++i) {
    CT_UNROLL
    for (int k = 0; k < 4; ++k) {
      if ((k & words) != 0) continue;
      const std::uint32_t left = w[i][k];
      const std::uint32_t right = w[i][k | words];
      const std::uint32_t got = ctx.shuffle_xor(upper ? left : right, mask);
      w[i][k] = upper ? got : left;
      w[i][k | words] = upper ? right : got;
    }
  }
}

}  // namespace detail

/// Lane q of a block holds its rows R q ... R q + R - 1, and afterwards those of the transposed
/// block. The Q lanes of a block are `apart` lanes from each other, and all lanes of the warp take
/// part.
template <class T, int R, class Ctx>
CT_DEVICE void transpose_block(Ctx& ctx, Vec<T, vector_of<T>> (&v)[R], int apart = 1) {
  constexpr int V = vector_of<T>;
  constexpr int Q = V / R;
  constexpr int size = static_cast<int>(sizeof(T));
  detail::Words w[R];
  CT_UNROLL
  for (int i = 0; i < R; ++i) w[i] = __builtin_bit_cast(detail::Words, v[i]);

  if constexpr (R > 8) detail::swap_rows<8, 8 * size>(w);
  if constexpr (R > 4) detail::swap_rows<4, 4 * size>(w);
  if constexpr (R > 2) detail::swap_rows<2, 2 * size>(w);
  if constexpr (R > 1) detail::swap_rows<1, size>(w);
  const int q = ctx.lane() / apart;
  if constexpr (Q > 1) detail::swap_lanes<R * size / 4>(ctx, w, apart, (q & 1) != 0);
  if constexpr (Q > 2) detail::swap_lanes<2 * R * size / 4>(ctx, w, 2 * apart, (q & 2) != 0);

  CT_UNROLL
  for (int i = 0; i < R; ++i) v[i] = __builtin_bit_cast(Vec<T, V>, w[i]);
}

/// Even lanes give their second R vectors for the first ones of the next lane.
template <class T, int R, class Ctx>
CT_DEVICE void exchange(Ctx& ctx, Vec<T, vector_of<T>> (&first)[R],
                        Vec<T, vector_of<T>> (&second)[R]) {
  const bool upper = ctx.lane() % 2 != 0;
  CT_UNROLL
  for (int i = 0; i < R; ++i) {
    auto a = __builtin_bit_cast(detail::Words, first[i]);
    auto b = __builtin_bit_cast(detail::Words, second[i]);
    CT_UNROLL
    for (int k = 0; k < 4; ++k) {
      const std::uint32_t got = ctx.shuffle_xor(upper ? a[k] : b[k], 1);
      a[k] = upper ? got : a[k];
      b[k] = upper ? b[k] : got;
    }
    first[i] = __builtin_bit_cast(Vec<T, vector_of<T>>, a);
    second[i] = __builtin_bit_cast(Vec<T, vector_of<T>>, b);
  }
}

}  // namespace cornerturn::ladder
