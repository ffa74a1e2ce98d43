// Where a tile of skew has whole rows of the destination that follow each other without a gap, a
// sector in which two of them meet is the tile's own. It leaves whole, as two vectors of two
// neighbouring lanes. Only the parts of sectors at the beginning and at the end of the tile are
// stored element by element.
//
//   sectors   |........|........|........|........|
//   rows      ..000000000000011111111111112222222..
//                       joint ^   joint ^
#pragma once

#include <cstdint>

#include "kernels/skew_args.hpp"

namespace cornerturn::kernels {

/// `first`: where the first of `cols` whole rows of `rows` elements begins; a row is a sector or
/// longer. vector_at(m, n) is the vector that begins with element n of row m; a negative n counts
/// back from the end of row m - 1. element_at(active, m, n) is one element.
template <class T, int threads, class Ctx, class VectorAt, class ElementAt>
CT_DEVICE void store_joints(Ctx& ctx, std::byte* first, int rows, int cols, VectorAt&& vector_at,
                            ElementAt&& element_at) {
  static_assert(threads >= 2 * of_sector<T>);
  constexpr int size = static_cast<int>(sizeof(T));
  const auto thread = static_cast<int>(ctx.thread_id().x);
  const std::int64_t row_bytes = std::int64_t{rows} * size;
  CT_NO_UNROLL
  for (int m = 1 + thread / 2; m < cols; m += threads / 2) {
    std::byte* const row = first + m * row_bytes;
    const auto behind = static_cast<int>(reinterpret_cast<std::uintptr_t>(row) % 32);
    if (behind == 0) continue;
    const int at = thread % 2 * 16 - behind;
    ctx.store(reinterpret_cast<Words*>(row + at), vector_at(m, at / size));
  }
  // The elements before the first sector that the tile has for itself, and those after its last
  // one.
  if (thread >= 2 * of_sector<T>) return;
  const std::byte* const end = first + cols * row_bytes;
  const auto tail = static_cast<int>(reinterpret_cast<std::uintptr_t>(end) % 32) / size;
  const bool is_tail = thread >= of_sector<T>;
  const int lane = thread % of_sector<T>;
  const bool active = lane < (is_tail ? tail : elements_to_sector<T>(first));
  const int m = is_tail ? cols - 1 : 0;
  const int n = is_tail ? rows - tail + lane : lane;
  const T value = element_at(active, m, active ? n : 0);
  ctx.store_if(active, reinterpret_cast<T*>(first + m * row_bytes) + n, value);
}

}  // namespace cornerturn::kernels
