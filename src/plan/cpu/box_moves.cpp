#include "plan/cpu/box_moves.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "plan/planner.hpp"

namespace cornerturn::plan {
BoxMoves plan_moves(int shapes, const std::function<Problem(int shape)>& problem_of,
                    const Machine& machine) {
  BoxMoves moves;
  for (int shape = 0; shape < shapes; ++shape) {
    Plan plan = make_plan(problem_of(shape), machine);
    moves.of_shape.push_back({plan.normal, std::move(plan.chosen)});
  }
  return moves;
}

std::string describe(const BoxMoves& moves) {
  const BoxMove& whole = moves.of_shape.front();
  std::string text =
      fmt::format("{} ({})", whole.chosen.row->name, describe(whole.chosen, whole.normal));
  std::vector<std::string_view> others;
  for (const BoxMove& move : moves.of_shape) {
    const std::string_view name = move.chosen.row->name;
    if (std::find(others.begin(), others.end(), name) == others.end()) others.push_back(name);
  }
  others.erase(others.begin());
  return others.empty() ? text
                        : fmt::format("{}, smaller ones by {}", text, fmt::join(others, ", "));
}

std::string explain(const BoxMoves& moves, std::string_view label) {
  std::string text;
  for (const BoxMove& move : moves.of_shape) {
    text += fmt::format("{:<11} {} by {}: {}\n", text.empty() ? label : "", to_string(move.normal),
                        move.chosen.row->name, describe(move.chosen, move.normal));
  }
  return text;
}

}  // namespace cornerturn::plan
