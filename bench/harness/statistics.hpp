// The few statistics of the benchmark: medians, noise, geometric means.
#pragma once

#include <vector>

namespace cornerturn::bench {

/// The middle value, or the mean of the two middle ones. `values` is not empty.
double median(std::vector<double> values);

/// Noise: the median absolute deviation from the median, scaled to estimate a standard deviation
/// (1.4826 for a normal distribution), as a share of the median. 0 for one value.
double relative_mad(const std::vector<double>& values);

/// exp(mean(log(values))). All values are positive; 0 for no values.
double geometric_mean(const std::vector<double>& values);

/// When to stop repeating a measurement.
struct StopRule {
  int min_runs = 5;
  int max_runs = 200;
  double noise = 0.01;       ///< stop when the median is known this well (its standard error)
  double budget = 1.0;       ///< seconds after which no run is added once there are `min_runs`
  double slow_budget = 3.0;  ///< seconds after which no run is added, however few there are

  /// True when `subject` (seconds of each run so far) is enough after `elapsed` seconds.
  bool enough(const std::vector<double>& subject, double elapsed) const;
};

}  // namespace cornerturn::bench
