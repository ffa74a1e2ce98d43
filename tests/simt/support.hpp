// What the emulator's tests share.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "simt/emulator.hpp"

namespace cornerturn::simt {

/// Different everywhere, as far as the type goes; no period that a tile could hide.
template <class T>
std::vector<T> numbered(std::int64_t count) {
  std::vector<T> values(static_cast<std::size_t>(count));
  std::uint64_t state = 1;
  for (T& v : values) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    v = static_cast<T>(state >> 33);
  }
  return values;
}

template <class T>
inline constexpr T poison = static_cast<T>(0xdeaddeaddeaddeadULL);

/// The obvious loop.
template <class T>
std::vector<T> transposed(const std::vector<T>& src, std::int64_t rows, std::int64_t cols) {
  std::vector<T> dst(src.size());
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t col = 0; col < cols; ++col) {
      dst[static_cast<std::size_t>(col * rows + row)] =
          src[static_cast<std::size_t>(row * cols + col)];
    }
  }
  return dst;
}

inline void expect_clean(const Emulator& emulator) {
  for (const Finding& finding : emulator.findings()) ADD_FAILURE() << finding.message();
}

}  // namespace cornerturn::simt
