// Costs of a planner fitted to measurements: how bad given costs are, and a search for better ones.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

namespace cornerturn::bench {

/// A problem with the candidates that were both offered and measured.
struct FitCase {
  std::vector<double> seconds;   ///< as measured, of each candidate
  double best = 0;               ///< of all that was measured
  bool counts_estimates = true;  ///< false where a time holds less than is estimated
};

/// What a planner expects of one candidate of one case, in seconds.
using EstimateOf = std::function<double(std::size_t of_case, std::size_t candidate)>;

/// Less is better: plans that lose more than 3 %, what all lose, how far estimates are off, and how
/// far those of one case are off against one another. Good candidates count more than bad ones.
double badness(const std::vector<FitCase>& cases, const EstimateOf& estimate);

/// A cost that a fit may change.
struct FreeCost {
  double start = 0;
  double most = 0;  ///< that it may become
};

/// A random search of so many steps near where costs start, one changed at a time. What the
/// measurements do not tell stays as it is: moving a cost has a price of its own.
std::vector<double> fitted(const std::vector<FreeCost>& free,
                           const std::function<double(const std::vector<double>&)>& badness_of,
                           int steps, unsigned seed);

/// All estimates with given costs, as logarithms: of a case, of a candidate.
using LogEstimates = std::vector<std::vector<double>>;

/// So many rounds along the derivatives of the estimates. In each one, finite differences say how
/// estimates change with costs, and a descent (Adam) on a smooth form of `badness`, in which all
/// candidates are chosen a little, goes as far as that can be trusted. The best round counts.
std::vector<double> fitted_along_derivatives(
    const std::vector<FreeCost>& free, const std::vector<FitCase>& cases,
    const std::function<LogEstimates(const std::vector<double>&)>& estimates, int rounds);

}  // namespace cornerturn::bench
