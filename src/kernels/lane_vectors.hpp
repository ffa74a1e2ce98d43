// What a lane holds of a matrix of f32, f16 or bf16 while it quantises: V neighbours of each of R
// rows, and what is largest in them.
#pragma once

#include <cstdint>

#include "kernels/block_codes.hpp"
#include "kernels/casts.hpp"
#include "kernels/unaligned.hpp"
#include "values/blocks.hpp"

namespace cornerturn::kernels {

template <class S>
struct LaneVectors {
  static constexpr bool packed = sizeof(S) == 2;  ///< two values in a word
  static constexpr int V = 16 / static_cast<int>(sizeof(S));
  static constexpr int R = 64 / V;

  /// Magnitudes, NaNs above all, compare like whole numbers.
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
  /// A magnitude of S as one of f32.
  CT_DEVICE static std::uint32_t f32_magnitude(std::uint32_t bits) {
    if constexpr (packed) {
      return values::magnitude_of(values::convert<float>(
          values::bits_as<S>(static_cast<Bits<S>>(bits)), Overflow::standard));
    } else {
      return bits;
    }
  }
  CT_DEVICE static float number(const Words& words, int i) {
    return number_of<S>(element_of<Bits<S>>(words, i));
  }

  /// Of the lane's columns and rows, two in a word where values are.
  template <int words>
  CT_DEVICE static void find_largest(const Words (&raw)[R], std::uint32_t (&of_cols)[4],
                                     std::uint32_t (&of_rows)[words]) {
    std::uint32_t before = 0;
    CT_UNROLL
    for (int r = 0; r < R; ++r) {
      std::uint32_t m[4];
      CT_UNROLL
      for (int k = 0; k < 4; ++k) {
        m[k] = magnitudes(raw[r][k]);
        of_cols[k] = r == 0 ? m[k] : larger(of_cols[k], m[k]);
      }
      const std::uint32_t row = larger(larger(m[0], m[1]), larger(m[2], m[3]));
      if constexpr (packed) {
        if (r % 2 == 1) {
          of_rows[r / 2] =
              larger(byte_permute(before, row, 0x5410), byte_permute(before, row, 0x7632));
        }
        before = row;
      } else {
        of_rows[r] = row;
      }
    }
  }

  /// Each exchange halves the lines of a lane and doubles the lanes that were looked at.
  template <int words, class Ctx>
  CT_DEVICE static void halve(Ctx& ctx, int lane, std::uint32_t (&most)[words], int half,
                              int mask) {
    const bool upper = (lane & mask) != 0;
    CT_UNROLL
    for (int i = 0; i < half; ++i) {
      const std::uint32_t given = upper ? most[i] : most[i + half];
      most[i] = larger(upper ? most[i + half] : most[i], ctx.shuffle_xor(given, mask));
    }
  }
};

}  // namespace cornerturn::kernels
