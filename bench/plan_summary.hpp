// How good plans are over many cases, in one line.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "gpu/measured_candidates.hpp"

namespace cornerturn::bench {

/// Counts the plans that lose no more than `close` against the best candidate, of those that were
/// measured.
class PlanSummary {
 public:
  explicit PlanSummary(double close) : close_(close) {}

  void add(const PlanCheck& check) {
    ++cases_;
    if (check.chosen_seconds == 0) {
      ++unmeasured_;
      return;
    }
    good_ += check.loss() <= close_ ? 1 : 0;
    log_loss_ += std::log1p(check.loss());
    worst_ = std::max(worst_, check.loss());
    log_off_ += std::abs(std::log(check.predicted_seconds / check.chosen_seconds));
  }

  void print(const std::string& label) const {
    const int timed = std::max(cases_ - unmeasured_, 1);
    fmt::print(
        "{:<30} {:4} cases, {:5.1f} % within {:.0f} %, mean loss {:5.2f} %, worst {:6.1f} %, "
        "estimates off by {:5.1f} %{}\n",
        label, cases_, 100.0 * good_ / timed, 100 * close_, 100 * std::expm1(log_loss_ / timed),
        100 * worst_, 100 * std::expm1(log_off_ / timed),
        unmeasured_ > 0 ? fmt::format(", {} not measured", unmeasured_) : "");
  }

 private:
  double close_;
  int cases_ = 0;
  int good_ = 0;
  int unmeasured_ = 0;
  double log_loss_ = 0;
  double worst_ = 0;
  double log_off_ = 0;
};

}  // namespace cornerturn::bench
