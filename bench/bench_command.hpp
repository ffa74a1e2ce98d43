// The subcommand `cornerturn bench`.
#pragma once

#include <CLI/CLI.hpp>

namespace cornerturn {

/// Adds `bench` to the command line. Its callback throws Error on bad input, and CLI::RuntimeError
/// with the exit code when a case failed (1) or the run was interrupted (130).
void add_bench_command(CLI::App& app);

}  // namespace cornerturn
