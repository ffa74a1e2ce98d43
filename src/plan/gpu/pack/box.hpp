// The box of pack: so many indices of each mode that it is made of long runs on both sides.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>

#include "core/problem.hpp"
#include "kernels/walk.hpp"
#include "maps/sectors.hpp"

namespace cornerturn::plan::gpu {

struct Box {
  static constexpr int capacity = kernels::max_axes;

  int rank = 0;
  std::array<std::int32_t, capacity> extent;  ///< by mode, `rank` of them: how many indices
  std::int64_t elements = 1;
  std::int64_t bytes = 0;  ///< of the source

  /// The run of a side: elements, and how many modes, fastest first, of `order`. It may run
  /// backwards along some of them.
  struct Side {
    std::array<std::uint8_t, capacity> order{};  ///< modes by stride, the smallest first
    int modes = 0;                               ///< in the order
    int run_modes = 0;                           ///< of them in the run; the last may be cut
    std::int64_t run = 1;                        ///< elements
    std::int64_t places = 1;  ///< from its first element to its last: more where it has gaps

    bool runs_along(int which) const {
      for (int i = 0; i < run_modes; ++i) {
        if (order[static_cast<std::size_t>(i)] == which) return true;
      }
      return false;
    }
  };
  Side src, dst;
  int shared_mode = -1;     ///< along which neighbouring boxes have indices in common, or -1
  std::int32_t shared = 0;  ///< so many, which belong to the next box too

  /// Indices from a box to the next along a mode.
  std::int32_t step(int which) const {
    return extent[static_cast<std::size_t>(which)] - (which == shared_mode ? shared : 0);
  }

  /// So many elements or bytes of the box, or of a run along that mode, without what it shares.
  std::int64_t unshared(std::int64_t all) const {
    if (shared == 0) return all;
    return all / extent[static_cast<std::size_t>(shared_mode)] * step(shared_mode);
  }

  friend bool operator==(const Box& a, const Box& b) {
    return a.bytes == b.bytes && a.shared == b.shared && a.rank == b.rank &&
           std::equal(a.extent.begin(), a.extent.begin() + a.rank, b.extent.begin());
  }
};

/// The modes of a problem in the order of either side: all boxes of it begin with that.
struct BoxSides {
  explicit BoxSides(const Problem& normal);

  Box::Side src, dst;
};

/// What a box is made for.
struct BoxWish {
  std::int64_t src_run_bytes = 0;  ///< of the runs of the source, about
  std::int64_t dst_run_bytes = 0;  ///< of those of the destination
  std::int64_t least_bytes = 0;    ///< in all
  std::int64_t most_bytes = std::numeric_limits<std::int64_t>::max();  ///< see box_of()
  std::int64_t granule = sector_bytes;  ///< a power of two: runs end at multiples of so many bytes
  bool gaps = false;           ///< short pieces of the source, a sector apart at most, make a run
  bool shares = false;         ///< boxes share what lies in the sectors where their runs meet
  bool ends_anywhere = false;  ///< so may runs, where boxes would be too large else

  friend bool operator==(const BoxWish&, const BoxWish&) = default;
};

/// Whether a run of the source can have gaps in any box.
bool may_have_gaps(const Problem& normal, const BoxSides& sides);

/// Whether the destination has no gaps at all.
bool is_dense(const Problem& normal, const Box::Side& dst);

/// The box that comes nearest to it. Of one that has more than `most_bytes` only its extents are
/// known, and its size.
Box box_of(const Problem& normal, const BoxSides& sides, const BoxWish& wish);

}  // namespace cornerturn::plan::gpu
