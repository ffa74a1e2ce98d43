// The subcommands of `cornerturn`. Each adds itself with its options; its callback does the work
// and throws Error on bad input, or CLI::RuntimeError with another exit code.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace cornerturn::cli {

void add_transpose_command(CLI::App& app);
void add_plan_command(CLI::App& app);
void add_info_command(CLI::App& app);
void add_ladder_command(CLI::App& app);
void add_analyse_command(CLI::App& app);
void add_draw_command(CLI::App& app);
void add_explain_command(CLI::App& app);
void add_solve_command(CLI::App& app);
void add_convert_command(CLI::App& app);
/// `program_arguments` is what stands after --.
void add_check_command(CLI::App& app, const std::vector<std::string>& program_arguments);
void add_puzzle_command(CLI::App& app);
void add_devices_command(CLI::App& app);
void add_version_command(CLI::App& app);
/// Hidden: writes the man page and the shell completions from what `app` says of itself.
void add_generate_command(CLI::App& app);

/// Exit codes besides 0.
inline constexpr int exit_failed = 1;     ///< verification or a GPU failed, or a defect
inline constexpr int exit_bad_input = 2;  ///< one line on standard error says what and why
inline constexpr int exit_interrupted = 130;

}  // namespace cornerturn::cli
