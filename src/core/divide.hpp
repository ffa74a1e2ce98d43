// Division that rounds towards a chosen side, and functions of powers of two.
#pragma once

#include <bit>
#include <cassert>
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

/// The greatest common divisor of a power of two and any integer.
constexpr std::int64_t gcd_of_power(std::int64_t power, std::int64_t n) {
  assert(std::has_single_bit(static_cast<std::uint64_t>(power)));
  const std::int64_t bits = power | n;
  return bits & -bits;
}

/// k, for n = 2^k.
constexpr int log2(std::int64_t n) {
  return std::countr_zero(static_cast<std::uint64_t>(n));
}

}  // namespace cornerturn
