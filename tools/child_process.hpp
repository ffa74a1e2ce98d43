// Another program, run to its end.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
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

/// Seconds of processor time: of a compiler, and the most that --seconds may say.
inline constexpr unsigned compile_seconds = 300;
inline constexpr std::int64_t most_seconds = 86400;

struct Allowed {
  unsigned cpu_seconds = 60;  ///< of processor time; five times as many where it only waits
  std::string temporary;      ///< its TMPDIR
  /// How long it may go on after SIGXCPU has told it that its processor time is over.
  unsigned grace_seconds = 1;
  std::int64_t memory = 0;  ///< bytes of data; 0 for no limit
  /// Names and values of more variables of its environment.
  std::vector<std::pair<std::string, std::string>> environment = {};
};

/// Runs words[0], found as a shell finds it, with nothing to read, and waits. No process that it
/// has started in its group outlives this call, nor does it outlive this process. Where a signal is
/// held it is stopped, and Error is thrown. Throws Error(unsupported) when there is no such
/// program.
Finished run_program(const std::vector<std::string>& words, const Allowed& allowed,
                     const HeldSignals& held);

}  // namespace cornerturn::cli
