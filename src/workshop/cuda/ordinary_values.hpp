// What a benchmark's source holds: numbers that differ from their neighbours at any distance and
// survive arithmetic. One function for the host and the device.
#pragma once

#include <cstdint>

#include "maps/host_device.hpp"

namespace cornerturn {

/// Word `index`: the leading bits of index * 2^64 / golden ratio.
CT_HOST_DEVICE inline std::uint64_t golden_word(std::uint64_t index) {
  return index * 0x9E3779B97F4A7C15u;
}

/// Elements of 1, 2, 4 or 8 bytes hold the leading bits of one word: all of them in a byte;
/// otherwise sign | 01 | the rest, a number between 2^-63 and 1 or so, whatever its format.
template <class T>
CT_HOST_DEVICE T ordinary_value(std::uint64_t index) {
  constexpr int bits = 8 * sizeof(T);
  if constexpr (bits == 8) {
    return static_cast<T>(golden_word(index) >> (64 - bits));
  } else {
    const std::uint64_t leading = golden_word(index) >> (66 - bits);
    constexpr std::uint64_t top = std::uint64_t{1} << (bits - 3);
    return static_cast<T>((leading & (top - 1)) | top | (leading & top) << 2);
  }
}

}  // namespace cornerturn
