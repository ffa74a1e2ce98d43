#include "fit.hpp"

#include <algorithm>
#include <cmath>
#include <random>

namespace cornerturn::bench {

double badness(const std::vector<FitCase>& cases, const EstimateOf& estimate) {
  double lost = 0, losses = 0, off = 0, weights = 0;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const FitCase& c = cases[i];
    double least = 0, taken = 0;
    for (std::size_t k = 0; k < c.seconds.size(); ++k) {
      const double seconds = estimate(i, k);
      const double behind = c.seconds[k] / c.best;
      const double weight = std::exp(-4 * (behind - 1));
      if (c.counts_estimates) {
        off += weight * std::min(std::abs(std::log(seconds / c.seconds[k])), 0.5);
        weights += weight;
      }
      if (k > 0 && seconds >= least) continue;
      least = seconds;
      taken = behind - 1;
    }
    losses += std::min(taken, 0.5);
    lost += 1 / (1 + std::exp((0.03 - taken) / 0.004));
  }
  const auto n = static_cast<double>(cases.size());
  return lost / n + 2 * losses / n + off / weights;
}

std::vector<double> fitted(const std::vector<FreeCost>& free,
                           const std::function<double(const std::vector<double>&)>& badness_of,
                           int steps, unsigned seed) {
  const auto all_of = [&](const std::vector<double>& costs) {
    double moved = 0;
    for (std::size_t i = 0; i < costs.size(); ++i) {
      const double times = std::log(costs[i] / free[i].start);
      moved += 0.0004 * times * times;
    }
    return badness_of(costs) + moved;
  };
  std::vector<double> costs;
  costs.reserve(free.size());
  for (const FreeCost& cost : free) costs.push_back(std::min(cost.start, cost.most));
  std::vector<double> reach(costs.size(), 0.3);
  std::mt19937 random(seed);
  std::normal_distribution<double> normal;
  double best = all_of(costs);
  for (int i = 0; i < steps; ++i) {
    const std::size_t which = random() % costs.size();
    std::vector<double> trial = costs;
    trial[which] =
        std::min(trial[which] * std::exp(reach[which] * normal(random)), free[which].most);
    const double value = all_of(trial);
    reach[which] =
        value < best ? std::min(reach[which] * 1.3, 0.8) : std::max(reach[which] * 0.93, 0.02);
    if (value >= best) continue;
    best = value;
    costs = trial;
  }
  return costs;
}

}  // namespace cornerturn::bench
