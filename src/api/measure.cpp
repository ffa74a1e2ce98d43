#include "api/measure.hpp"

#include <algorithm>
#include <chrono>
#include <utility>
#include <vector>

#include "cpu/engine.hpp"
#include "cuda/backend.hpp"
#include "plan/rounds.hpp"

namespace cornerturn {
namespace {

constexpr std::size_t candidates_timed = 8;
constexpr double hopeless = 6.0;  // predicted this many times slower than the best: not tried
constexpr int rounds = 3;

// So many of a plan's candidates.
std::size_t worth_timing(const plan::Candidates& candidates) {
  const double most = hopeless * candidates[0].seconds();
  std::size_t count = 0;
  while (count < std::min(candidates.size(), candidates_timed) &&
         candidates[count].seconds() <= most) {
    ++count;
  }
  return count;
}

}  // namespace

double seconds_of(const plan::Plan& plan, const Buffers& buffers) {
  const auto start = std::chrono::steady_clock::now();
  cpu::execute(plan, buffers);
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

plan::Plan measured(plan::Plan plan, const Buffers& buffers, void* stream) {
  std::vector<plan::Plan> plans(worth_timing(plan.candidates), plan);
  for (std::size_t i = 0; i < plans.size(); ++i) {
    plans[i].choose(plan.candidates[i], plan::Choice::measured);
  }
  const std::vector<double> seconds =
      plan.machine.cpu() == nullptr
          ? cuda::seconds_of(plans, buffers, static_cast<cuda::Stream>(stream))
          : plan::best_of_rounds(rounds, plans.size(),
                                 [&](int, std::size_t i) { return seconds_of(plans[i], buffers); });
  const auto winner = std::min_element(seconds.begin(), seconds.end());
  return std::move(plans[static_cast<std::size_t>(winner - seconds.begin())]);
}

}  // namespace cornerturn
