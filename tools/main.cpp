// cornerturn: the command line.
#include <fmt/format.h>

#include <unistd.h>

#include <cstdio>
#include <exception>
#include <new>
#include <string>

#include "bench_command.hpp"
#include "commands.hpp"
#include "cornerturn/error.hpp"
#include "signals.hpp"
#include "workshop/analyse/notation.hpp"

namespace {

using cornerturn::Error;
using cornerturn::Status;
namespace cli = cornerturn::cli;

// One line on standard error, whatever the message holds.
int complain(std::string message, int code) {
  for (char& c : message) {
    if (c == '\n' || c == '\r') c = ' ';
  }
  fmt::print(stderr, "cornerturn: {}\n", message);
  return code;
}

}  // namespace

// Setting the commands up throws only where a command is described wrongly.
// NOLINTNEXTLINE(bugprone-exception-escape)
int main(int argc, char** argv) {
  cli::catch_signals();
  CLI::App app(
      "Transposes and permutes arrays in files at the speed of memory.\n"
      "The exit code is 0 when all is done, 1 when a verification fails, 2 when the input is "
      "wrong, "
      "and 130 after an interrupt.",
      "cornerturn");
  app.require_subcommand(1);
  app.get_formatter()->column_width(34);
  cli::add_transpose_command(app);
  cli::add_plan_command(app);
  cli::add_info_command(app);
  cornerturn::add_bench_command(app);
  cli::add_ladder_command(app);
  cli::add_analyse_command(app);
  cli::add_draw_command(app);
  cli::add_explain_command(app);
  cli::add_solve_command(app);
  cli::add_convert_command(app);
  cli::add_check_command(app);
  cli::add_devices_command(app);
  cli::add_version_command(app);
  cli::add_generate_command(app);

  try {
    app.parse(argc, argv);
    if (std::fflush(stdout) != 0) return complain("standard output cannot be written", 2);
    return 0;
  } catch (const CLI::Success& help) {
    return app.exit(help);
  } catch (const CLI::RuntimeError& failed) {
    return failed.get_exit_code();
  } catch (const CLI::ParseError& error) {
    return complain(error.what(), cli::exit_bad_input);
  } catch (const cornerturn::NotationError& error) {
    complain(error.what(), cli::exit_bad_input);
    if (isatty(STDERR_FILENO) != 0) fmt::print(stderr, "{}\n", error.picture());
    return cli::exit_bad_input;
  } catch (const Error& error) {
    const bool defect = error.status() == Status::internal;
    return complain(error.what(), defect ? cli::exit_failed : cli::exit_bad_input);
  } catch (const std::bad_alloc&) {
    return complain("memory is short", cli::exit_bad_input);
  } catch (const std::exception& error) {
    return complain(error.what(), cli::exit_failed);
  }
}
