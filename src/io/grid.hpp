// An array cut into boxes: by tiles of one shape, or into pieces that are contiguous on one side.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "core/problem.hpp"
#include "cornerturn/view.hpp"

namespace cornerturn::io {

/// A part of an array: for each mode where it starts and how many steps it has.
struct Box {
  Extents start;
  Extents extent;

  std::int64_t elements() const noexcept;
  friend bool operator==(const Box&, const Box&) = default;
};

/// Boxes of the shape `tile` that cover an array of the shape `extents`; those at the far ends may
/// be smaller.
struct Grid {
  Extents extents;
  Extents tile;

  /// How many boxes there are, and the box at `index`; the last mode goes fastest.
  std::int64_t size() const noexcept;
  Box box(std::int64_t index) const;
  std::int64_t tile_elements() const noexcept;

  friend bool operator==(const Grid&, const Grid&) = default;
};

enum class Side { source, destination };

/// The modes of `problem`, fastest first, as one side sees them.
std::vector<int> fastest_first(const Problem& problem, Side side);

/// Bytes in one piece on `side` when a box has the shape `tile`.
std::int64_t run_bytes(const Problem& problem, const Extents& tile, Side side);

/// A grid whose boxes hold at most `budget` bytes and have runs as long as that allows: the runs of
/// the two sides grow in the ratio of the goals, given in bytes.
Grid balanced_grid(const Problem& problem, std::int64_t budget, std::int64_t src_goal,
                   std::int64_t dst_goal);

/// A grid whose boxes hold at most `budget` bytes and are each one contiguous run on `side`.
Grid contiguous_grid(const Problem& problem, std::int64_t budget, Side side);

/// Byte offset of a box's first element on one side.
std::int64_t offset_of(const Problem& problem, const Box& box, Side side);

/// Strides, in bytes, of a buffer that holds elements of `extent` packed in the order of `side`.
Extents packed_like(const Problem& problem, const Extents& extent, Side side);

/// Calls `visit` with the byte offset of every contiguous run of `box` on `side`, in the order of
/// that side. All runs are run_bytes(problem, box.extent, side) long.
void for_each_run(const Problem& problem, const Box& box, Side side,
                  const std::function<void(std::int64_t offset)>& visit);

}  // namespace cornerturn::io
