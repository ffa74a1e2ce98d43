// Random bits for stochastic rounding: a function of a seed and an element's place, so that every
// kernel on every device draws the same for the same element.
#pragma once

#include <cstdint>

#include "maps/host_device.hpp"

namespace cornerturn::values {

/// A bijection of 32 bits in which every bit of the result depends on every bit of x: two
/// multiplications (constants by C. Wellons, https://github.com/skeeto/hash-prospector).
CT_HOST_DEVICE constexpr std::uint32_t mixed(std::uint32_t x) {
  x = (x ^ (x >> 16)) * 0x7feb352dU;
  x = (x ^ (x >> 15)) * 0x846ca68bU;
  return x ^ (x >> 16);
}

/// 32 random bits for each place: two rounds of mixing with a key of 64 bits in between.
struct RandomBits {
  std::uint32_t key0 = 0;
  std::uint32_t key1 = 0;

  RandomBits() = default;
  /// The seed is mixed as well: neighbouring seeds make unrelated bits.
  CT_HOST_DEVICE constexpr explicit RandomBits(std::uint64_t seed)
      : key0(mixed(static_cast<std::uint32_t>(seed) + 0x9e3779b9U)),
        key1(mixed(key0 ^ mixed(static_cast<std::uint32_t>(seed >> 32) + 0x85ebca6bU))) {}

  CT_HOST_DEVICE constexpr std::uint32_t at(std::uint64_t place) const {
    const auto low = static_cast<std::uint32_t>(place);
    const auto high = static_cast<std::uint32_t>(place >> 32);
    return mixed(mixed(low + key0) + key1 + high * 0x9e3779b9U);
  }
};

}  // namespace cornerturn::values
