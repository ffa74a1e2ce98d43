// How a kernel that works on boxes in a stage moves them there, or from there: by the other
// kernels, each planned like any problem, for all shapes that boxes have.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "plan/plan.hpp"

namespace cornerturn::plan {

/// Boxes of one shape. The problem is between the first elements of a box and of the stage.
struct BoxMove {
  Problem normal;
  Candidate chosen;

  friend bool operator==(const BoxMove&, const BoxMove&) = default;
};

struct BoxMoves {
  std::vector<BoxMove> of_shape;  ///< see BoxGrid::Box::shape; whole boxes are the first

  friend bool operator==(const BoxMoves&, const BoxMoves&) = default;
};

/// The moves of boxes of so many shapes; problem_of(shape) is what is done to one of them.
BoxMoves plan_moves(int shapes, const std::function<Problem(int shape)>& problem_of,
                    const Machine& machine);

/// Which kernel moves whole boxes, in which configuration, and which kernels move the smaller ones.
std::string describe(const BoxMoves& moves);
/// A line for each shape of box; the first begins with `label`.
std::string explain(const BoxMoves& moves, std::string_view label);

}  // namespace cornerturn::plan
