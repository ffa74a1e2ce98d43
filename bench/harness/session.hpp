// A benchmark run from the command line: which cases, how, and what becomes of the results.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "harness/case.hpp"
#include "harness/statistics.hpp"
#include "harness/subject.hpp"

namespace cornerturn::bench {

struct SessionOptions {
  std::vector<std::string> suites;
  CaseFilter filter;
  int threads = 0;  ///< 0: all that the process may use
  StopRule rule;
  std::string json;                  ///< where the results go; empty: nowhere
  std::vector<std::string> compare;  ///< two result files to compare instead of measuring
  bool list = false;                 ///< print the cases instead of measuring
};

/// Adds the options that Cornerturn and the peers share. `options` must outlive `app`.
void add_session_options(CLI::App& app, SessionOptions& options);

/// Does what the options say and returns the exit code: 0, 1 when a case failed verification, 130
/// when interrupted (the table so far is printed, no file is written). Throws Error on bad input.
/// `threads` of the subject are resolved before it is prepared.
int run_session(const SessionOptions& options, Subject& subject);

}  // namespace cornerturn::bench
