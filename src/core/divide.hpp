// Division that rounds towards a chosen side.
#pragma once

#include <cstdint>

namespace cornerturn {

/// The largest integer <= a / b, for b > 0.
constexpr std::int64_t floor_div(std::int64_t a, std::int64_t b) {
  return a / b - (a % b < 0 ? 1 : 0);
}

/// The smallest integer >= a / b, for b > 0.
constexpr std::int64_t ceil_div(std::int64_t a, std::int64_t b) {
  return -floor_div(-a, b);
}

}  // namespace cornerturn
