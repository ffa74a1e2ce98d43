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

/// Less is better: plans that lose more than 3 %, what all lose, and how far estimates are off,
/// where good candidates count more than bad ones.
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

}  // namespace cornerturn::bench
