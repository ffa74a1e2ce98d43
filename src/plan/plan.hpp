// A plan is a value: which kernel, how it is set up, on how many threads, what it should cost, and
// what else was considered.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/problem.hpp"
#include "plan/choice.hpp"
#include "plan/config.hpp"
#include "plan/cpu_info.hpp"

namespace cornerturn::plan {

struct Row;

/// One kernel in one configuration, with its predicted time on one thread.
struct Candidate {
  const Row* row = nullptr;
  Config config;
  double cost_ns = 0;

  friend bool operator==(const Candidate&, const Candidate&) = default;
};
using Candidates = std::vector<Candidate>;

/// A row of the registry: a kernel as the planner sees it.
struct Row {
  std::string_view name;
  std::string_view idea;
  /// Null when the kernel takes the (normalised) problem, else the rule that the problem breaks.
  const char* (*why_not)(const Problem& normal, const CpuInfo& cpu);
  /// Appends the configurations worth considering, with their cost.
  void (*configure)(const Row& row, const Problem& normal, const CpuInfo& cpu, Candidates& out);
  std::string (*describe)(const Config& config, const Problem& normal);
  bool converts = false;  ///< takes problems whose values change
};

/// Row::why_not, and the rule that holds for all: values change in kernels that say so.
const char* why_not(const Row& row, const Problem& normal, const CpuInfo& cpu);

/// THE table: every kernel of the CPU backend, in the order in which equals are preferred.
const std::vector<Row>& registry();

struct Plan {
  Problem problem;  ///< as asked for
  Problem normal;   ///< as executed
  Candidate chosen;
  int threads = 1;
  Choice choice = Choice::estimated;
  Candidates candidates;  ///< all, cheapest first

  std::string_view kernel() const { return chosen.row->name; }
  /// Predicted time on `threads` threads, in nanoseconds.
  double predicted_ns() const;

  friend bool operator==(const Plan& a, const Plan& b) {
    return a.problem == b.problem && a.chosen == b.chosen && a.threads == b.threads;
  }
};

/// The configuration in words, also its name in a file of remembered winners.
std::string describe(const Candidate& candidate, const Problem& normal);
/// One line: kernel, configuration, threads, bytes, predicted time.
std::string to_string(const Plan& plan);
/// Why this kernel: how it was chosen, and how far the best of every other kernel is behind.
std::string why(const Plan& plan);
/// Several lines: the problem, how it was normalised, the kernel, why, and every candidate.
std::string explain(const Plan& plan, const CpuInfo& cpu);
/// The same for programs.
std::string to_json(const Plan& plan, const CpuInfo& cpu);

}  // namespace cornerturn::plan
