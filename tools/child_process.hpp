// Another program, run to its end.
#pragma once

#include <string>
#include <vector>

#include "signals.hpp"

namespace cornerturn::cli {

struct Finished {
  int exit_code = 0;  ///< -1 where a signal ended it
  int signal = 0;
  bool late = false;   ///< it was stopped because it waited too long
  std::string output;  ///< of standard output: the first MiB
  std::string errors;  ///< of standard error: the first MiB
};

struct Allowed {
  unsigned cpu_seconds = 60;  ///< of processor time; five times as many where it only waits
  std::string temporary;      ///< its TMPDIR
};

/// Runs words[0], found as a shell finds it, with nothing to read, and waits. No process that it
/// has started in its group outlives this call, nor does it outlive this process. Where a signal is
/// held it is stopped, and Error is thrown. Throws Error(unsupported) when there is no such
/// program.
Finished run_program(const std::vector<std::string>& words, const Allowed& allowed,
                     const HeldSignals& held);

}  // namespace cornerturn::cli
