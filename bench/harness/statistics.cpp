#include "harness/statistics.hpp"

#include <algorithm>
#include <cmath>

namespace cornerturn::bench {

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return (*std::max_element(values.begin(), middle) + *middle) / 2;
}

double relative_mad(const std::vector<double>& values) {
  const double centre = median(values);
  if (centre == 0) return 0;
  std::vector<double> deviations;
  deviations.reserve(values.size());
  for (const double v : values) deviations.push_back(std::abs(v - centre));
  return 1.4826 * median(std::move(deviations)) / centre;
}

double geometric_mean(const std::vector<double>& values) {
  if (values.empty()) return 0;
  double sum = 0;
  for (const double v : values) sum += std::log(v);
  return std::exp(sum / static_cast<double>(values.size()));
}

bool StopRule::enough(const std::vector<double>& subject, double elapsed) const {
  const int runs = static_cast<int>(subject.size());
  if (runs == 0) return false;
  if (runs >= max_runs || elapsed >= slow_budget) return true;
  if (runs < min_runs) return false;
  if (elapsed >= budget) return true;
  return relative_mad(subject) / std::sqrt(static_cast<double>(runs)) <= noise;
}

}  // namespace cornerturn::bench
