// Another program, run to its end.
#pragma once

#include <string>
#include <vector>

namespace cornerturn::cli {

struct Finished {
  int exit_code = 0;  ///< -1 where a signal ended it
  int signal = 0;
  std::string output;  ///< of standard output
  std::string errors;  ///< of standard error
};

/// Runs words[0], found as a shell finds it, and waits. It is stopped after `cpu_seconds` of
/// processor time. Throws Error(unsupported) when there is no such program.
Finished run_program(const std::vector<std::string>& words, unsigned cpu_seconds);

}  // namespace cornerturn::cli
