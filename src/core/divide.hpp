// Division that rounds towards a chosen side, and the exponents of powers of two.
#pragma once

#include <bit>
#include <cstdint>

namespace cornerturn {

/// The largest integer <= a / b, for b > 0.
constexpr std::int64_t floor_div(std::int64_t a, std::int64_t b) {
  return a / b - (a % b < 0 ? 1 : 0);
}

/// The smallest integer >= a / b, for b > 0.
constexpr std::int64_t ceil_div(std::int64_t a, std::int64_t b) {
  return a / b + (a % b > 0 ? 1 : 0);
}

/// k, for n = 2^k.
constexpr int log2(std::int64_t n) {
  return std::countr_zero(static_cast<std::uint64_t>(n));
}

}  // namespace cornerturn
