#include "harness/report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "cornerturn/error.hpp"
#include "harness/random_suite.hpp"

namespace cornerturn::bench {
namespace {

std::string percent(double share) {
  return fmt::format("{:.0f}", 100 * share);
}

std::string duration(double seconds) {
  return seconds >= 1e-3   ? fmt::format("{:.2f} ms", 1e3 * seconds)
         : seconds >= 1e-6 ? fmt::format("{:.2f} us", 1e6 * seconds)
                           : fmt::format("{:.0f} ns", 1e9 * seconds);
}

std::string megabytes(std::int64_t bytes) {
  const double mb = 1e-6 * static_cast<double>(bytes);
  return fmt::format("{:.{}f}", mb, mb < 1 ? 3 : mb < 10 ? 2 : 0);
}

// Shares of memcpy by class and element size, rows and columns in alphabetical order.
class ShareTable {
 public:
  void add(const std::string& group, int element_bytes, double share) {
    for (const std::string& g : {group, std::string("all")}) {
      groups_[g][element_bytes].push_back(share);
      groups_[g][0].push_back(share);
    }
    sizes_[element_bytes] = true;
  }

  std::string format(const std::string& title) const {
    std::size_t width = title.size();
    for (const auto& [group, unused] : groups_) width = std::max(width, group.size());
    std::string out = fmt::format("{:<{}}", title, width);
    for (const auto& [size, unused] : sizes_)
      out += fmt::format(" {:>7}", fmt::format("{} B", size));
    out += fmt::format(" {:>7} {:>7} {:>5}\n", "all", "min", "cases");
    for (const auto& [group, row] : groups_) {
      if (group != "all") out += line(group, width, row);
    }
    if (groups_.size() > 2) out += line("all", width, groups_.at("all"));
    return out;
  }

 private:
  using Row = std::map<int, std::vector<double>>;

  std::string line(const std::string& group, std::size_t width, const Row& row) const {
    std::string out = fmt::format("{:<{}}", group, width);
    for (const auto& [size, unused] : sizes_) {
      const auto found = row.find(size);
      out +=
          fmt::format(" {:>7}", found == row.end() ? "-" : percent(geometric_mean(found->second)));
    }
    const std::vector<double>& all = row.at(0);
    return out + fmt::format(" {:>7} {:>7} {:>5}\n", percent(geometric_mean(all)),
                             percent(*std::min_element(all.begin(), all.end())), all.size());
  }

  std::map<std::string, Row> groups_;
  std::map<int, bool> sizes_;
};

}  // namespace

std::string table_header(const std::string& device) {
  if (device == "gpu") {
    return fmt::format("{:<30} {:>2} {:>7} {:>10} {:>7} {:>6} {:>6} {:>6}  {}", "case", "B", "MB",
                       "time", "GB/s", "% copy", "noise", "model", "method");
  }
  return fmt::format("{:<30} {:>2} {:>7} {:>10} {:>7} {:>8} {:>8} {:>6}  {}", "case", "B", "MB",
                     "time", "GB/s", "% memcpy", "% copy", "noise", "method");
}

namespace {

// Below the chosen one, which the share and the estimate of a candidate are columns of. On a CPU
// there is no column for estimates.
std::string candidate_line(const Result& r, const CandidateResult& candidate) {
  const std::string start = fmt::format("\n{:>41} ", "");
  if (!candidate.wrong.empty()) {
    return start + fmt::format("{:>10} WRONG {}: {}", "", candidate.description, candidate.wrong);
  }
  const std::string share = percent(r.yardstick_seconds() / candidate.seconds);
  const std::string predicted = percent(candidate.predicted_seconds / candidate.seconds);
  if (r.gpu) {
    return start + fmt::format("{:>10} {:>7} {:>6} {:>6} {:>5}%  {}", duration(candidate.seconds),
                               "", share, "", predicted, candidate.description);
  }
  return start + fmt::format("{:>10} {:>7} {:>8} {:>8} {:>6}  {}: {} (predicted {})",
                             duration(candidate.seconds), "", share, "", "", candidate.kernel,
                             candidate.description, duration(candidate.predicted_seconds));
}

}  // namespace

std::string table_line(const Result& r) {
  std::string line = fmt::format("{:<30} {:>2} {:>7} ", r.c.name, r.c.element_bytes,
                                 megabytes(r.c.payload_bytes()));
  if (r.outcome != Outcome::ok) return line + fmt::format("{}: {}", to_string(r.outcome), r.reason);
  line += fmt::format("{:>10} {:>7.1f} ", duration(r.seconds), r.gigabytes_per_second());
  if (!r.gpu) {
    line += fmt::format("{:>8} {:>8} {:>5.1f}%  {}", percent(r.share()),
                        percent(r.share_of_best_copy()), 100 * r.noise, r.method);
  } else {
    const GpuResult& gpu = *r.gpu;
    line += fmt::format(
        "{:>6} {:>5.1f}% {:>5}%  {}", percent(r.share()), 100 * r.noise,
        gpu.predicted_seconds > 0 ? percent(gpu.predicted_seconds / r.seconds) : "-", r.method);
    if (gpu.execute_seconds > 0) line += fmt::format("; host {}", duration(gpu.execute_seconds));
  }
  for (const CandidateResult& candidate : r.candidates) line += candidate_line(r, candidate);
  return line;
}

double chosen_seconds(const Result& r) {
  for (const CandidateResult& candidate : r.candidates) {
    const bool chosen = r.method == candidate.kernel + ": " + candidate.description;
    if (chosen && candidate.seconds > 0) return candidate.seconds;
  }
  return r.gpu ? r.seconds : r.best_seconds;  // as candidates are timed there
}

ChoiceScore score_choices(const std::vector<Result>& results) {
  ChoiceScore score;
  for (const Result& r : results) {
    if (r.outcome != Outcome::ok || r.candidates.empty()) continue;
    double best = chosen_seconds(r);
    for (const CandidateResult& candidate : r.candidates) {
      if (candidate.seconds > 0) best = std::min(best, candidate.seconds);
    }
    score.cases += 1;
    score.good += chosen_seconds(r) <= 1.03 * best;
  }
  return score;
}

namespace {

// The fastest of all candidates; 0: none was timed.
double best_seconds(const Result& r) {
  double best = 0;
  for (const CandidateResult& candidate : r.candidates) {
    if (candidate.seconds > 0 && (best == 0 || candidate.seconds < best)) best = candidate.seconds;
  }
  return best == 0 ? 0 : std::min(best, chosen_seconds(r));
}

double quantile(std::vector<double> values, double share) {
  std::sort(values.begin(), values.end());
  return values[static_cast<std::size_t>(
      std::lround(share * static_cast<double>(values.size() - 1)))];
}

// How much time was lost by the choices, by class: time of the chosen over that of the fastest.
std::string regret_table(const std::vector<Result>& results) {
  std::map<std::string, std::vector<double>> groups;
  const Result* worst = nullptr;
  const auto regret_of = [](const Result& r) { return chosen_seconds(r) / best_seconds(r); };
  for (const Result& r : results) {
    if (r.outcome != Outcome::ok || best_seconds(r) == 0) continue;
    groups[r.c.group].push_back(regret_of(r));
    groups["all"].push_back(regret_of(r));
    if (worst == nullptr || regret_of(r) > regret_of(*worst)) worst = &r;
  }
  if (worst == nullptr) return "";
  std::string out = fmt::format("\n{:<20} {:>6} {:>6} {:>6} {:>6} {:>5}\n", "regret", "mean",
                                "95 %", "worst", "<=1.1", "cases");
  const auto line = [&](const std::string& group) {
    const std::vector<double>& all = groups.at(group);
    const auto good = std::count_if(all.begin(), all.end(), [](double r) { return r <= 1.1; });
    out += fmt::format("{:<20} {:>6.2f} {:>6.2f} {:>6.2f} {:>4.0f} % {:>5}\n", group,
                       geometric_mean(all), quantile(all, 0.95), quantile(all, 1),
                       100.0 * static_cast<double>(good) / static_cast<double>(all.size()),
                       all.size());
  };
  for (const auto& [group, unused] : groups) {
    if (group != "all") line(group);
  }
  line("all");
  return out + fmt::format("most regretted: {}, {:.2f} times the best candidate's time\n",
                           to_string(worst->c), regret_of(*worst));
}

// How far the estimates of each kernel are from what was measured.
std::string prediction_table(const std::vector<Result>& results) {
  std::map<std::string, std::vector<double>> kernels;
  for (const Result& r : results) {
    for (const CandidateResult& candidate : r.candidates) {
      if (candidate.seconds <= 0 || candidate.predicted_seconds <= 0) continue;
      kernels[candidate.kernel].push_back(candidate.predicted_seconds / candidate.seconds);
    }
  }
  if (kernels.empty()) return "";
  std::string out =
      fmt::format("\n{:<20} {:>7} {:>7} {:>7} {:>7} {:>7} {:>6}\n", "predicted / measured", "least",
                  "5 %", "median", "95 %", "most", "times");
  for (const auto& [kernel, all] : kernels) {
    out += fmt::format("{:<20} {:>7.3f} {:>7.2f} {:>7.2f} {:>7.2f} {:>7.2f} {:>6}\n", kernel,
                       quantile(all, 0), quantile(all, 0.05), quantile(all, 0.5),
                       quantile(all, 0.95), quantile(all, 1), all.size());
  }
  return out;
}

// The slowest of the cases that were drawn at random, to be pasted into a suite.
std::string worst_random_cases(const std::vector<Result>& results) {
  std::vector<const Result*> drawn;
  for (const Result& r : results) {
    if (r.outcome == Outcome::ok && is_random(r.c.suite)) drawn.push_back(&r);
  }
  std::sort(drawn.begin(), drawn.end(),
            [](const Result* a, const Result* b) { return a->share() < b->share(); });
  drawn.resize(std::min<std::size_t>(drawn.size(), 3));
  std::string out = drawn.empty() ? "" : "\nthe slowest, as cases of a suite:\n";
  for (const Result* r : drawn) out += json_of(r->c) + "\n";
  return out;
}

}  // namespace

std::string summary(const std::vector<Result>& results) {
  ShareTable table;
  const Result* slowest = nullptr;
  int skipped = 0;
  int failed = 0;
  for (const Result& r : results) {
    skipped += r.outcome == Outcome::skipped;
    failed += r.outcome == Outcome::failed;
    if (r.outcome != Outcome::ok) continue;
    table.add(r.c.group, r.c.element_bytes, r.share());
    if (slowest == nullptr || r.share() < slowest->share()) slowest = &r;
  }
  std::string out;
  if (slowest != nullptr) {
    const char* yardstick = slowest->gpu ? "plain copy" : "memcpy";
    out += table.format(fmt::format("% of {}, geometric mean", yardstick));
    out += fmt::format("slowest: {} with {} %\n", to_string(slowest->c), percent(slowest->share()));
  }
  const ChoiceScore score = score_choices(results);
  if (score.cases > 0) {
    out += fmt::format("chosen within 3 % of the fastest candidate: {} of {} cases ({:.1f} %)\n",
                       score.good, score.cases, 100.0 * score.good / score.cases);
  }
  out += regret_table(results) + prediction_table(results) + worst_random_cases(results);
  if (skipped > 0) out += fmt::format("{} skipped\n", skipped);
  if (failed > 0) out += fmt::format("{} FAILED\n", failed);
  return out;
}

std::string compare(const Report& a, const Report& b) {
  using Key = std::tuple<std::string, std::string, int>;
  std::map<Key, const Result*> before;
  for (const Result& r : a.results) {
    if (r.outcome == Outcome::ok) before[{r.c.suite, r.c.name, r.c.element_bytes}] = &r;
  }
  std::string out;
  if (a.threads != b.threads) {
    out += fmt::format("note: {} threads against {}\n", a.threads, b.threads);
  }
  out +=
      fmt::format("{:<30} {:>2} {:>9} {:>9} {:>7}  {}\n", "case", "B", "a %", "b %", "b / a", "");
  ShareTable table;
  int faster = 0;
  int slower = 0;
  int same = 0;
  for (const Result& r : b.results) {
    const auto found = before.find({r.c.suite, r.c.name, r.c.element_bytes});
    if (r.outcome != Outcome::ok || found == before.end()) continue;
    const Result& old = *found->second;
    const double ratio = r.share() / old.share();
    const double threshold =
        std::max(0.03, 2 * std::sqrt(r.noise * r.noise + old.noise * old.noise));
    const bool changed = std::abs(ratio - 1) > threshold;
    (!changed ? same : ratio > 1 ? faster : slower) += 1;
    out += fmt::format("{:<30} {:>2} {:>9} {:>9} {:>7.2f}  {}\n", r.c.name, r.c.element_bytes,
                       percent(old.share()), percent(r.share()), ratio,
                       !changed    ? "same"
                       : ratio > 1 ? "FASTER"
                                   : "SLOWER");
    table.add(r.c.group, r.c.element_bytes, ratio);
  }
  const int common = same + faster + slower;
  if (common > 0) out += "\n" + table.format("b / a in %, geometric mean");
  out += fmt::format("{} cases in both: {} faster, {} slower, {} the same\n", common, faster,
                     slower, same);
  const auto measured = [](const Report& report) {
    return std::count_if(report.results.begin(), report.results.end(),
                         [](const Result& r) { return r.outcome == Outcome::ok; });
  };
  const auto only_a = measured(a) - common;
  const auto only_b = measured(b) - common;
  if (only_a + only_b > 0) out += fmt::format("only in a: {}, only in b: {}\n", only_a, only_b);
  return out;
}

}  // namespace cornerturn::bench
