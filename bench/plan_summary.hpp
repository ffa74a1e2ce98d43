// How good plans are over many cases, in one line; and what a fit has changed.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
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

/// Such a line for each class of cases, and one for all.
class ClassSummary {
 public:
  /// `lists`: cases that lose more than `close`, or were not measured, are printed.
  ClassSummary(double close, bool lists) : close_(close), lists_(lists), all_(close) {}

  void add(const PlanCheck& check) {
    classes_.try_emplace(fmt::format("{} {:>2} B", check.group, check.element_bytes), close_)
        .first->second.add(check);
    all_.add(check);
    if (!lists_ || (check.chosen_seconds != 0 && check.loss() <= close_)) return;
    fmt::print("{:<40} {:6.1f} %  {} {:.1f} us (predicted {:.1f}); best {} {:.1f} us\n", check.name,
               100 * check.loss(), check.chosen, 1e6 * check.chosen_seconds,
               1e6 * check.predicted_seconds, check.best, 1e6 * check.best_seconds);
  }

  void print(bool with_classes) const {
    if (with_classes) {
      for (const auto& [label, summary] : classes_) summary.print(label);
    }
    all_.print("all");
  }

 private:
  double close_;
  bool lists_;
  std::map<std::string, PlanSummary> classes_;
  PlanSummary all_;
};

/// Rounds what a fit has found to four digits, which are more than measurements tell, and prints
/// every cost before and after.
template <class Costs>
void round_and_print(Costs before, Costs& fitted) {
  const auto from = before.named();
  const auto to = fitted.named();
  for (std::size_t i = 0; i < to.size(); ++i) {
    to[i].cost->value = std::stod(fmt::format("{:.4g}", to[i].cost->value));
    fmt::print("{:<32} {:>9.4g} -> {:>9.4g}  {}\n", to[i].name, from[i].cost->value,
               to[i].cost->value, to[i].cost->meaning);
  }
}

}  // namespace cornerturn::bench
