// Lists as kernels that walk along modes see them: ordinary modes, whose steps they look up where
// they would multiply a stride.
#pragma once

#include <cstdint>

#include "core/problem.hpp"

namespace cornerturn::plan {

/// A problem whose lists have become modes, in the order of the destination, or with blocks behind
/// all others. On the side of a table
/// a mode has a stride that is larger than all others, no line of any array apart from a multiple
/// of it in a source, and not aligned in a destination: choices that look at it then hold for any
/// table. Offsets have to be looked up there instead.
struct SpreadProblem {
  Problem problem;
  int src_list = -1;  ///< the mode with the source's table; -1: there is none
  int dst_list = -1;
};

/// Null, or the rule that a list breaks which cannot become a mode.
const char* why_not_spread(const Problem& normal);

/// A problem that breaks no rule of why_not_spread().
SpreadProblem spread(const Problem& normal);

/// The same of a problem with blocks, which may have a list on the side of its plain values.
struct BlockModes {
  Problem problem;
  int list = -1;  ///< the mode of the list; -1: there is none

  explicit BlockModes(const Problem& normal);
};

}  // namespace cornerturn::plan
