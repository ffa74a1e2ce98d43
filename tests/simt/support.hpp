// What the emulator's tests share.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/validate.hpp"
#include "workshop/simt/emulator.hpp"

namespace cornerturn::simt {

/// A side's memory: what the problem reaches, the first byte at `phase` bytes past a multiple of
/// 256.
struct Side {
  Side(const Reach& reach, std::int64_t phase)
      : storage(static_cast<std::size_t>(reach.high - reach.low + 1024)) {
    auto at = (reinterpret_cast<std::uintptr_t>(storage.data()) + 511) / 256 * 256;
    first = reinterpret_cast<std::byte*>(at) + phase;
    zero = first - reach.low;
    bytes = reach.high - reach.low;
  }

  std::vector<std::byte> storage;
  std::byte* first = nullptr;
  std::byte* zero = nullptr;  // where the problem's offsets count from
  std::int64_t bytes = 0;
};

inline std::int64_t alignment_of(const void* p) {
  const auto address = reinterpret_cast<std::uintptr_t>(p);
  return std::min<std::int64_t>(16, static_cast<std::int64_t>(address & -address));
}

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
