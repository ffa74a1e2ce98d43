#include "planning/fit.hpp"

#include <algorithm>
#include <cmath>
#include <random>

namespace cornerturn::bench {

namespace {

// How much the estimate of a candidate counts: that of good ones more.
double weight_of(const FitCase& c, std::size_t candidate) {
  return std::exp(-4 * (c.seconds[candidate] / c.best - 1));
}

// By how much the estimates of a case are too large, on the average: as logarithms.
double off_together(const FitCase& c, const std::vector<double>& logs) {
  double off = 0, weights = 0;
  for (std::size_t k = 0; k < logs.size(); ++k) {
    off += weight_of(c, k) * (logs[k] - std::log(c.seconds[k]));
    weights += weight_of(c, k);
  }
  return off / weights;
}

constexpr double of_choices = 0.5;    // what a choice counts beside the errors of estimates
constexpr double of_differences = 2;  // and what they are off by that is not common to a case

}  // namespace

double badness(const std::vector<FitCase>& cases, const EstimateOf& estimate) {
  double lost = 0, losses = 0, off = 0, weights = 0;
  std::vector<double> logs;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const FitCase& c = cases[i];
    logs.clear();
    for (std::size_t k = 0; k < c.seconds.size(); ++k) logs.push_back(std::log(estimate(i, k)));
    const double common = off_together(c, logs);
    double least = 0, taken = 0;
    for (std::size_t k = 0; k < logs.size(); ++k) {
      const double weight = weight_of(c, k);
      if (c.counts_estimates) {
        const double by = logs[k] - std::log(c.seconds[k]);
        off += weight * std::min(std::abs(by), 0.5);
        off += weight * of_differences * std::min(std::abs(by - common), 0.5);
        weights += weight;
      }
      if (k > 0 && logs[k] >= least) continue;
      least = logs[k];
      taken = c.seconds[k] / c.best - 1;
    }
    losses += std::min(taken, 0.5);
    lost += 1 / (1 + std::exp((0.03 - taken) / 0.004));
  }
  const auto n = static_cast<double>(cases.size());
  return of_choices * (lost + 2 * losses) / n + off / weights;
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

namespace {

constexpr double reach = 0.15;  // of the logarithm of a cost, in a round

// Estimates as a line in the logarithms of the costs, for one candidate.
struct Slope {
  std::size_t cost;
  double by;
};
using Slopes = std::vector<std::vector<std::vector<Slope>>>;

// The logarithm of what a cost can be, in that of its start; so are those of `logs`.
double most_of(const FreeCost& cost) {
  return std::log(cost.most / cost.start);
}

std::vector<double> costs_at(const std::vector<FreeCost>& free, const std::vector<double>& logs) {
  std::vector<double> costs;
  costs.reserve(free.size());
  for (std::size_t i = 0; i < free.size(); ++i) {
    costs.push_back(std::min(free[i].start * std::exp(logs[i]), free[i].most));
  }
  return costs;
}

// Adds the derivatives of the smooth badness by the logarithm of each estimate of a case.
void add_gradient(const FitCase& c, const std::vector<double>& logs, double share_of_case,
                  double share_of_weight, std::vector<double>& gradient) {
  constexpr double apart = 0.02;  // logarithms that make a choice clear
  constexpr double near = 0.01;   // where an error counts as its square
  const double least = *std::min_element(logs.begin(), logs.end());
  std::vector<double> chosen(logs.size()), lost(logs.size());
  double all = 0, expected = 0;
  for (std::size_t k = 0; k < logs.size(); ++k) {
    all += chosen[k] = std::exp((least - logs[k]) / apart);
    const double behind = c.seconds[k] / c.best - 1;
    lost[k] = 2 * std::min(behind, 0.5) + 1 / (1 + std::exp((0.03 - behind) / 0.004));
  }
  for (std::size_t k = 0; k < logs.size(); ++k) expected += (chosen[k] /= all) * lost[k];
  const double common = off_together(c, logs);
  const auto direction = [](double off) { return off / std::sqrt(off * off + near * near); };
  double weights = 0, of_common = 0;
  for (std::size_t k = 0; k < logs.size(); ++k) {
    gradient[k] = of_choices * share_of_case * chosen[k] * (expected - lost[k]) / apart;
    if (!c.counts_estimates) continue;
    const double weight = weight_of(c, k);
    const double off = logs[k] - std::log(c.seconds[k]);
    const double different = weight * of_differences * direction(off - common);
    gradient[k] += share_of_weight * (weight * direction(off) + different);
    of_common += different;
    weights += weight;
  }
  // What is common moves with each of them.
  for (std::size_t k = 0; k < logs.size() && c.counts_estimates; ++k) {
    gradient[k] -= share_of_weight * of_common * weight_of(c, k) / weights;
  }
}

std::vector<double> descended(const std::vector<FitCase>& cases, const LogEstimates& at_start,
                              const Slopes& slopes, std::size_t costs) {
  constexpr int steps = 150;
  constexpr double rate = 0.004;
  double weights = 0;
  for (const FitCase& c : cases) {
    for (std::size_t k = 0; k < c.seconds.size(); ++k) weights += weight_of(c, k);
  }
  std::vector<double> moved(costs), mean(costs), square(costs), logs, of_logs;
  for (int step = 1; step <= steps; ++step) {
    std::vector<double> gradient(costs);
    for (std::size_t i = 0; i < cases.size(); ++i) {
      logs = at_start[i];
      for (std::size_t k = 0; k < logs.size(); ++k) {
        for (const Slope& slope : slopes[i][k]) logs[k] += slope.by * moved[slope.cost];
      }
      of_logs.assign(logs.size(), 0);
      add_gradient(cases[i], logs, 1 / static_cast<double>(cases.size()), 1 / weights, of_logs);
      for (std::size_t k = 0; k < logs.size(); ++k) {
        for (const Slope& slope : slopes[i][k]) gradient[slope.cost] += of_logs[k] * slope.by;
      }
    }
    for (std::size_t n = 0; n < costs; ++n) {
      const double g = gradient[n] + 0.0008 * moved[n];
      mean[n] = 0.9 * mean[n] + 0.1 * g;
      square[n] = 0.99 * square[n] + 0.01 * g * g;
      const double by = mean[n] / (1 - std::pow(0.9, step)) /
                        (std::sqrt(square[n] / (1 - std::pow(0.99, step))) + 1e-9);
      moved[n] = std::clamp(moved[n] - rate * by, -reach, reach);
    }
  }
  return moved;
}

}  // namespace

std::vector<double> fitted_along_derivatives(
    const std::vector<FreeCost>& free, const std::vector<FitCase>& cases,
    const std::function<LogEstimates(const std::vector<double>&)>& estimates, int rounds) {
  constexpr double difference = 0.02;
  std::vector<double> logs;
  logs.reserve(free.size());
  for (const FreeCost& cost : free) logs.push_back(std::min(0.0, most_of(cost)));
  std::vector<double> best = costs_at(free, logs);
  double least = 0;
  for (int round = 0; round <= rounds; ++round) {
    const LogEstimates here = estimates(costs_at(free, logs));
    const double value =
        badness(cases, [&](std::size_t i, std::size_t k) { return std::exp(here[i][k]); });
    if (round == 0 || value < least) {
      least = value;
      best = costs_at(free, logs);
    }
    if (round == rounds) break;
    Slopes slopes(cases.size());
    for (std::size_t i = 0; i < cases.size(); ++i) slopes[i].resize(here[i].size());
    for (std::size_t n = 0; n < free.size(); ++n) {
      std::vector<double> beside = logs;
      beside[n] -= difference;  // never above what a cost may be
      const LogEstimates there = estimates(costs_at(free, beside));
      for (std::size_t i = 0; i < cases.size(); ++i) {
        for (std::size_t k = 0; k < here[i].size(); ++k) {
          const double by = (here[i][k] - there[i][k]) / difference;
          if (by != 0) slopes[i][k].push_back({n, by});
        }
      }
    }
    const std::vector<double> moved = descended(cases, here, slopes, free.size());
    for (std::size_t n = 0; n < free.size(); ++n) {
      logs[n] = std::min(logs[n] + moved[n], most_of(free[n]));
    }
  }
  return best;
}

}  // namespace cornerturn::bench
