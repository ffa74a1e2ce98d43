// Where a tile of skew has whole rows of the destination that follow each other without a gap, a
// sector in which two of them meet is the tile's own. It leaves whole, as two vectors that two
// neighbouring lanes shift together from the end of one row and the beginning of the next. Only
// what the first and the last sector of the tile share with others leaves element by element.
//
//   sectors   |........|........|........|........|
//   rows      ..000000000000011111111111112222222..
//                       joint ^   joint ^
#pragma once

#include <cstdint>

#include "kernels/skew_args.hpp"
#include "kernels/unaligned.hpp"

namespace cornerturn::kernels {

/// `first`: the first of `cols` rows of `rows` elements, which are a sector or more. vector_of(m, n)
/// is the vector of row m from its element n on, element_of(active, m, n) that element.
template <class T, int threads, class Ctx, class VectorOf, class ElementOf>
CT_DEVICE void store_joints(Ctx& ctx, std::byte* first, int rows, int cols, VectorOf&& vector_of,
                            ElementOf&& element_of) {
  constexpr int size = static_cast<int>(sizeof(T));
  constexpr int V = 16 / size;
  const auto thread = static_cast<int>(ctx.thread_id().x);
  const int row_bytes = rows * size;
  CT_NO_UNROLL
  for (int m = 1 + thread / 2; m < cols; m += threads / 2) {
    std::byte* const row = first + static_cast<std::int64_t>(m) * row_bytes;
    const auto behind = static_cast<int>(reinterpret_cast<std::uintptr_t>(row) % 32);
    if (behind == 0) continue;
    const int n = (thread % 2 * 16 - behind) / size;  // where the vector begins, counted from row m
    const bool inside = n >= 0;
    const int of_end = n + V < 0 ? n : -V;
    const Words low = inside ? vector_of(m, n) : vector_of(m - 1, rows + of_end);
    const Words high = vector_of(m, 0);
    const int shift = inside ? 0 : (n - of_end) * size;
    ctx.store(reinterpret_cast<Words*>(row + n * size),
              funnel<size>(low, high, static_cast<unsigned>(shift)));
  }
  // The elements before the tile's first sector that it has for itself, and those behind the last.
  const int lane = thread % of_sector<T>;
  if (thread >= 2 * of_sector<T>) return;
  const std::byte* const end = first + static_cast<std::int64_t>(cols) * row_bytes;
  const auto tail = static_cast<int>(reinterpret_cast<std::uintptr_t>(end) % 32) / size;
  const bool is_tail = thread >= of_sector<T>;
  const bool active = lane < (is_tail ? tail : elements_to_sector<T>(first));
  const int m = is_tail ? cols - 1 : 0;
  const int n = is_tail ? rows - tail + lane : lane;
  const T value = element_of(active, m, n);
  ctx.store_if(active,
               reinterpret_cast<T*>(first + static_cast<std::int64_t>(m) * row_bytes) + n, value);
}

}  // namespace cornerturn::kernels
