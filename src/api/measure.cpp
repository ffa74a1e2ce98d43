#include "api/measure.hpp"

#include <algorithm>
#include <array>
#include <chrono>

#include "cpu/engine.hpp"

namespace cornerturn {
namespace {

constexpr std::size_t candidates_timed = 8;
constexpr double hopeless = 6.0;  // predicted this many times slower than the best: not tried
constexpr int rounds = 3;

double seconds_of(const plan::Plan& plan, void* dst, const void* src) {
  const auto start = std::chrono::steady_clock::now();
  cpu::execute(plan, src, dst);
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

plan::Plan measured(plan::Plan plan, void* dst, const void* src) {
  std::size_t count = 0;
  for (; count < std::min(plan.candidates.size(), candidates_timed); ++count) {
    if (plan.candidates[count].cost_ns > hopeless * plan.candidates[0].cost_ns) break;
  }
  // Rounds over all candidates, so that a disturbance hits none of them alone; each one's best
  // round counts.
  std::array<double, candidates_timed> best;
  best.fill(1e300);
  for (int round = 0; round < rounds; ++round) {
    for (std::size_t i = 0; i < count; ++i) {
      plan.chosen = plan.candidates[i];
      best[i] = std::min(best[i], seconds_of(plan, dst, src));
    }
  }
  const auto winner = std::min_element(best.begin(), best.begin() + static_cast<long>(count));
  plan.chosen = plan.candidates[static_cast<std::size_t>(winner - best.begin())];
  plan.choice = plan::Choice::measured;
  return plan;
}

}  // namespace cornerturn
