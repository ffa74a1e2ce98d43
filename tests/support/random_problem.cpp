#include "support/random_problem.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace cornerturn::test {

int RandomProblems::element_size() {
  constexpr int usual[] = {1, 2, 4, 8, 16};
  if (limits_.small_elements_only || chance(0.8)) return usual[uniform(0, 4)];
  return static_cast<int>(chance(0.5) ? uniform(1, 24) : uniform(1, ElementType::max_size));
}

// Log-uniform, with a liking for the neighbours of powers of two.
std::int64_t RandomProblems::extent(std::int64_t limit) {
  if (limit <= 1) return 1;
  const double log = std::uniform_real_distribution<double>(0, std::log2(double(limit)))(random_);
  auto value = static_cast<std::int64_t>(std::exp2(log));
  if (chance(0.3)) {
    value = (std::int64_t{1} << std::lround(log)) + uniform(-1, 1);
  }
  return std::clamp<std::int64_t>(value, 1, limit);
}

void RandomProblems::lay_out(Problem& problem, std::int64_t Mode::*stride, bool may_repeat,
                             bool identity) {
  std::vector<int> order(static_cast<std::size_t>(problem.rank()));
  for (int i = 0; i < problem.rank(); ++i) order[static_cast<std::size_t>(i)] = i;
  if (!identity) std::shuffle(order.begin(), order.end(), random_);
  const bool padded = chance(0.3);
  const bool odd_bytes = chance(0.1);
  std::int64_t reach = problem.src_type.size();  // from here on nothing is taken
  for (auto i = order.rbegin(); i != order.rend(); ++i) {
    Mode& mode = problem.modes[*i];
    std::int64_t step = reach;
    if (padded && chance(0.5)) {
      step += uniform(0, 3) * (odd_bytes ? uniform(1, 5) : problem.src_type.size());
    }
    if (may_repeat && chance(0.04)) step = 0;
    reach += step * (std::max<std::int64_t>(mode.extent, 1) - 1);
    if (step == 0) continue;
    // Outside of padding modes are packed: the next stride is this one times its extent.
    reach = std::max(reach, step * std::max<std::int64_t>(mode.extent, 1));
    mode.*stride = chance(0.06) ? -step : step;
  }
}

Problem RandomProblems::next() {
  Problem problem;
  const int size = element_size();
  problem.src_type = ElementType::bytes(size);
  problem.dst_type = problem.src_type;
  const int rank = static_cast<int>(chance(0.5) ? uniform(0, 4) : uniform(0, limits_.max_rank));
  std::int64_t left = std::max<std::int64_t>(limits_.max_bytes / size, 1);
  // Few modes share the budget evenly now and then, so that both runs get long.
  const bool even = chance(0.4);
  for (int i = 0; i < rank; ++i) {
    const int modes_left = rank - i;
    std::int64_t limit = left;
    if (even) {
      limit = std::max<std::int64_t>(2, std::llround(2 * std::pow(double(left), 1.0 / modes_left)));
    }
    const std::int64_t value = chance(0.005) ? 0 : extent(std::min(left, limit));
    problem.modes.push_back({value, 0, 0});
    left = std::max<std::int64_t>(left / std::max<std::int64_t>(value, 1), 1);
  }
  lay_out(problem, &Mode::dst_stride, false, chance(0.5));
  lay_out(problem, &Mode::src_stride, true, chance(0.15));
  return problem;
}

}  // namespace cornerturn::test
