// Turns the thousand ways to write one problem into one.
#pragma once

#include <string>
#include <vector>

#include "core/problem.hpp"

namespace cornerturn {

/// What may be assumed of addresses when elements are widened.
struct Alignment {
  /// False: any address will do, only the run length bounds the width (CPU).
  /// True: widened elements must lie at multiples of their width (GPU).
  bool required = false;
  std::int64_t src = 16;  ///< alignment of the source pointer, in bytes
  std::int64_t dst = 16;  ///< alignment of the destination pointer, in bytes
  /// Alignment of the further arrays of blocks (BlockBuffers).
  std::int64_t scales = 16;
  std::int64_t second = 16;
  std::int64_t second_scales = 16;

  friend bool operator==(const Alignment&, const Alignment&) = default;
};

/// A problem's copy in its simplest form:
///  - no mode of extent 1; an empty problem has the single mode (0, 1, 1);
///  - destination strides positive and sorted, largest first; source strides keep their sign
///    relative to them. Where alignment matters, modes along which the source runs on have a
///    positive source stride instead, if the destination's stride has 128 bytes or more;
///  - no two neighbouring modes that could be one;
///  - elements of 1, 2, 4, 8 or 16 bytes, as wide as the contiguous run that both sides share
///    (and the alignment, where it matters) allows. What is left of a longer run is the last mode,
///    with both strides equal to the element size.
/// A problem that converts values keeps its element types, and modes that a scale or a bias belongs
/// to are not fused. Modes whose places come from tables stay as they are. A problem with blocks
/// keeps its types, the signs of its strides, and the modes along which blocks lie; the others are
/// sorted and fused where all its arrays allow. A reduction reads its elements in the order of the
/// memory: source strides positive and sorted, each element once. Idempotent. `steps`, when given,
/// gets a line of plain words for each thing done.
Problem normalise(const Problem& problem, const Alignment& alignment = {},
                  std::vector<std::string>* steps = nullptr);

}  // namespace cornerturn
