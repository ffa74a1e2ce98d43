// Problems of one shape whose blocks take turns in one launch: where each of them lies.
#pragma once

#include <cstdint>

namespace cornerturn {

struct Turns {
  static constexpr int most = 16;

  int count = 1;
  // Bytes from the arrays of the first problem to those of each: multiples of 16.
  std::int64_t src[most] = {};
  std::int64_t dst[most] = {};
};

}  // namespace cornerturn
