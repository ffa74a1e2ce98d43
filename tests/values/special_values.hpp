#pragma once

#include <limits>

namespace cornerturn::values {

inline constexpr float infinity = std::numeric_limits<float>::infinity();
inline constexpr float nan = std::numeric_limits<float>::quiet_NaN();

}  // namespace cornerturn::values
