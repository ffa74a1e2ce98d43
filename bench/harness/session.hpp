// A benchmark run from the command line: which cases, how, and what becomes of the results.
#pragma once

#include <CLI/CLI.hpp>
#include <atomic>
#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "harness/case.hpp"
#include "harness/runner.hpp"
#include "harness/statistics.hpp"
#include "harness/subject.hpp"

namespace cornerturn::bench {

struct SessionOptions {
  std::vector<std::string> suites;
  std::int64_t random = 0;  ///< measure so many random problems instead of suites
  bool fields = false;      ///< of the random problems: see RandomSpec::drawn
  std::uint64_t seed = 1;   ///< of these
  std::int64_t min_bytes = 0;
  CaseFilter filter;
  int threads = 0;               ///< 0: all that the process may use
  std::optional<double> budget;  ///< these three change a stop rule
  std::optional<double> slow_budget;
  std::optional<int> min_runs;
  double max_seconds = 0;            ///< no case is begun after; 0: no limit
  bool all_candidates = false;       ///< time all that the planner considered
  bool warm = false;                 ///< time every case warm; on a GPU in a graph
  std::string json;                  ///< where the results go; empty: nowhere
  std::vector<std::string> compare;  ///< two result files to compare instead of measuring
  bool list = false;                 ///< print the cases instead of measuring

  /// `base` with what the options change.
  StopRule stop_rule(StopRule base) const;
};

/// Adds the options that Cornerturn and the peers share. `options` must outlive `app`.
void add_session_options(CLI::App& app, SessionOptions& options);

/// The option for subjects that have candidates.
void add_candidates_option(CLI::App& app, SessionOptions& options);

/// Does what the options say and returns the exit code: 0, 1 when a case failed verification, 130
/// when interrupted (the table so far is printed, no file is written). Throws Error on bad input.
/// `threads` of the subject are resolved before it is prepared.
int run_session(const SessionOptions& options, Subject& subject, const StopRule& rule = {});

/// Where and how cases are measured when Runner does not do it.
struct Place {
  std::string device;  ///< "cpu" or "gpu"
  std::string name;    ///< of the processor
  int threads = 1;
  std::function<Result(const Case&, const std::atomic<bool>& interrupted)> measure;
  std::function<nlohmann::ordered_json()> provenance;  ///< asked for when all is measured
};
int run_session_at(const SessionOptions& options, const Subject& subject, const Place& place);

}  // namespace cornerturn::bench
