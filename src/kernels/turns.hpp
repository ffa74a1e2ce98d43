// Problems of one shape whose blocks take turns in one launch: where each of them lies.
#pragma once

#include <cstdint>

#include "maps/host_device.hpp"

namespace cornerturn {

struct Turns {
  static constexpr int most = 16;

  int count = 1;
  // Bytes from the arrays of the first problem to those of each: multiples of 16.
  std::int64_t src[most] = {};
  std::int64_t dst[most] = {};

  // A kernel numbers its tiles by rows, then columns, then steps through the other modes; where it
  // takes them in bands, that order is kept, and there is one step. Elsewhere, where the
  // rows that a tile writes lie further apart than those of neighbouring steps, these come before
  // columns here, so that blocks which run together write to the same pages of memory.
  std::uint32_t rows = 1;
  std::uint32_t columns = 1;
  std::uint32_t steps = 1;

  /// The kernel's number of the tile that comes as number n.
  CT_HOST_DEVICE constexpr std::uint32_t tile(std::uint32_t n) const {
    if (steps == 1) return n;
    const std::uint32_t above = n / rows;
    const std::uint32_t column = above / steps;
    return n % rows + rows * (column + columns * (above % steps));
  }
};

}  // namespace cornerturn
