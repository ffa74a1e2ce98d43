// A problem cut into boxes, which a kernel takes one after the other.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "core/problem.hpp"

namespace cornerturn::plan {

/// Boxes of equal extents, smaller at the far end of each mode.
struct BoxGrid {
  using PerMode = std::array<std::int64_t, ModeList::capacity>;
  using ModeOrder = std::array<int, ModeList::capacity>;

  int rank = 0;
  PerMode extent;   ///< of a box
  PerMode boxes;    ///< so many along each mode
  ModeOrder order;  ///< boxes are counted along these modes, the first one fastest
  std::int64_t count = 1;
  std::int64_t elements = 1;  ///< of a whole box

  /// Modes that boxes do not divide evenly: the last box along each is smaller. A box has a shape:
  /// bit k is set where it is the last along the k-th of these modes. Whole boxes are of shape 0.
  static constexpr int most_uneven = 4;
  std::array<int, most_uneven> uneven;
  int uneven_modes = 0;
  int shapes() const { return 1 << uneven_modes; }
  /// Elements of mode `mode`, the problem's i-th, in boxes of a shape.
  std::int64_t count_of(int shape, int i, const Mode& mode) const;

  /// One box: where it begins, and how many elements of each mode it has.
  struct Box {
    PerMode first;
    PerMode count;
    int shape = 0;
    std::int64_t src_offset = 0;
    std::int64_t dst_offset = 0;
  };
  Box box(const Problem& normal, std::int64_t index) const;

  /// Works out all of the above from the rank, the extents and the order of a grid.
  void count_boxes(const Problem& normal);
  /// Does each index of mode `i` have a box of its own that reads the same as the others?
  bool reads_again(const Problem& normal, int i) const;
  /// Works out all of the above from the rank and the extents. Neighbours share lines along the
  /// modes that are cut: boxes are counted along those first, then in the order of the destination.
  /// `again_first`: first of all along modes whose boxes read the same.
  void count_along_cuts(const Problem& normal, bool again_first);
};

/// The grid of boxes over the first `rank` modes that have the extents of the parts of a
/// configuration, and 1 elsewhere.
template <class Config>
BoxGrid grid_of_parts(const Config& config, int rank, const Problem& normal,
                      bool again_first = false) {
  BoxGrid grid;
  grid.rank = rank;
  for (int i = 0; i < rank; ++i) grid.extent[static_cast<std::size_t>(i)] = 1;
  for (int k = 0; k < config.part_count; ++k) {
    const auto& part = config.parts[static_cast<std::size_t>(k)];
    grid.extent[static_cast<std::size_t>(part.mode)] = part.extent;
  }
  grid.count_along_cuts(normal, again_first);
  return grid;
}

}  // namespace cornerturn::plan
