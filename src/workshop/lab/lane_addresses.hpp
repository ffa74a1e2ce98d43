// Where the lanes of one request reach shared memory.
#pragma once

#include <cstdint>
#include <optional>

#include "workshop/lab/access.hpp"

namespace cornerturn::lab {

/// The first lane that cannot take its elements at once.
struct LaneFault {
  std::size_t lane = 0;
  /// The first of its elements that is no neighbour of the one before; 0: all are neighbours, but
  /// their address is no multiple of the access's width.
  int element = 0;
};

/// Fills in `request`, where element (row, column) is number `place(row, column)` in shared memory.
/// Of each vector the first `looked_at` elements are looked at: 1 is enough for a layout that keeps
/// vectors together.
template <class Place>
std::optional<LaneFault> set_addresses(WarpRequest& request, const LanePoints& points,
                                       const Access& access, int bytes, int looked_at,
                                       const Place& place) {
  const int vector = access.vector;
  const int row_step = access.down ? 1 : 0;
  const int column_step = access.down ? 0 : 1;
  request.width = vector * bytes;
  request.active = 0;
  for (std::size_t lane = 0; lane < warp_lanes; ++lane) {
    const TilePoint& point = points[lane];
    if (!point.inside) continue;
    const std::int64_t first = place(point.row, point.column);
    for (int k = 1; k < looked_at; ++k) {
      if (place(point.row + k * row_step, point.column + k * column_step) != first + k) {
        return LaneFault{lane, k};
      }
    }
    if (first % vector != 0) return LaneFault{lane, 0};
    request.active |= 1U << lane;
    request.address[lane] = static_cast<std::uint64_t>(first * bytes);
  }
  return std::nullopt;
}

}  // namespace cornerturn::lab
