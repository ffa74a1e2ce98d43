#include "api/measure.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <vector>

#include "cpu/engine.hpp"
#include "cuda/backend.hpp"

namespace cornerturn {
namespace {

constexpr std::size_t candidates_timed = 8;
constexpr double hopeless = 6.0;  // predicted this many times slower than the best: not tried
constexpr int rounds = 3;

double seconds_of(const plan::Plan& plan, void* dst, const void* src, const Vectors& vectors) {
  const auto start = std::chrono::steady_clock::now();
  cpu::execute(plan, src, dst, vectors);
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

std::size_t worth_timing(const std::vector<double>& costs) {
  std::size_t count = 0;
  while (count < std::min(costs.size(), candidates_timed) && costs[count] <= hopeless * costs[0]) {
    ++count;
  }
  return count;
}

}  // namespace

plan::Plan measured(plan::Plan plan, void* dst, const void* src, const Vectors& vectors) {
  std::vector<double> costs;
  for (const plan::Candidate& candidate : plan.candidates) costs.push_back(candidate.cost_ns);
  const std::size_t count = worth_timing(costs);
  // Rounds over all candidates, so that a disturbance hits none of them alone; each one's best
  // round counts.
  std::array<double, candidates_timed> best;
  best.fill(1e300);
  for (int round = 0; round < rounds; ++round) {
    for (std::size_t i = 0; i < count; ++i) {
      plan.chosen = plan.candidates[i];
      best[i] = std::min(best[i], seconds_of(plan, dst, src, vectors));
    }
  }
  const auto winner = std::min_element(best.begin(), best.begin() + static_cast<long>(count));
  plan.chosen = plan.candidates[static_cast<std::size_t>(winner - best.begin())];
  plan.choice = plan::Choice::measured;
  return plan;
}

plan::gpu::Plan measured(plan::gpu::Plan plan, void* dst, const void* src, const Vectors& vectors,
                         void* stream) {
  std::vector<double> costs;
  for (const auto& candidate : plan.candidates) costs.push_back(candidate.cost_seconds);
  std::vector<plan::gpu::Plan> plans(worth_timing(costs), plan);
  for (std::size_t i = 0; i < plans.size(); ++i) {
    plans[i].choose(plan.candidates[i], plan::Choice::measured);
  }
  const std::vector<double> seconds =
      cuda::seconds_of(plans, dst, src, static_cast<cuda::Stream>(stream), vectors);
  const auto winner = std::min_element(seconds.begin(), seconds.end());
  return std::move(plans[static_cast<std::size_t>(winner - seconds.begin())]);
}

}  // namespace cornerturn
