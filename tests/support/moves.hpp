// Everything that problems move, one by one.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "core/problem.hpp"

namespace cornerturn::test {

/// Where an element goes to, and where it comes from, in bytes.
using Move = std::pair<std::int64_t, std::int64_t>;

inline void add_moves(const Problem& problem, int mode, Move at, std::vector<Move>& moves) {
  if (mode == problem.rank()) return moves.push_back(at);
  const Mode& m = problem.modes[mode];
  for (std::int64_t i = 0; i < m.extent; ++i) {
    add_moves(problem, mode + 1, {at.first + i * m.dst_stride, at.second + i * m.src_stride},
              moves);
  }
}

/// In order; equal for two lists of problems that move the same.
inline std::vector<Move> moves_of(const std::vector<Problem>& problems) {
  std::vector<Move> moves;
  for (const Problem& problem : problems) {
    add_moves(problem, 0, {problem.dst_offset, problem.src_offset}, moves);
  }
  std::sort(moves.begin(), moves.end());
  return moves;
}

}  // namespace cornerturn::test
