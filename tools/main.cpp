// cornerturn: the command line.
#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <new>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "bench_command.hpp"
#include "commands.hpp"
#include "cornerturn/error.hpp"
#include "help.hpp"
#include "io/print.hpp"
#include "signals.hpp"
#include "workshop/analyse/notation.hpp"

namespace {

using cornerturn::Error;
using cornerturn::Status;
namespace cli = cornerturn::cli;
namespace io = cornerturn::io;

int complain(const std::string& message, int code) {
  io::complain(message);
  return code;
}

int answer(CLI::App& app, int argc, char** argv) {
  const bool asks_for_help = argc > 2 && std::string_view(argv[1]) == "help";
  if (argc > 1 && std::string_view(argv[asks_for_help ? 2 : 1]) == "rechunk") {
    return complain(
        "rechunk is a command of the Python package: pip install 'cornerturn[chunks]', and run "
        "python -m cornerturn rechunk",
        cli::exit_bad_input);
  }
  try {
    std::vector<std::string> words = cli::words_to_parse(app, {argv + 1, argv + argc});
    if (words.empty()) {
      io::print_error(app.help());
      return cli::exit_bad_input;
    }
    std::reverse(words.begin(), words.end());  // as CLI11 takes them
    app.parse(words);
    return 0;
  } catch (const CLI::Success& help) {
    std::ostringstream text;
    const int code = app.exit(help, text, text);
    io::print_as_is(text.str());
    return code;
  } catch (const CLI::RuntimeError& failed) {
    return failed.get_exit_code();
  } catch (const CLI::ExtrasError&) {
    return complain(cli::unexpected_words(app), cli::exit_bad_input);
  } catch (const CLI::ParseError& error) {
    return complain(error.what(), cli::exit_bad_input);
  } catch (const cornerturn::NotationError& error) {
    complain(error.what(), cli::exit_bad_input);
    if (io::shows_progress()) io::print_error(error.picture() + "\n");
    return cli::exit_bad_input;
  } catch (const Error& error) {
    const bool failed =
        error.status() == Status::internal || error.status() == Status::device_error;
    return complain(error.what(), failed ? cli::exit_failed : cli::exit_bad_input);
  } catch (const std::bad_alloc&) {
    return complain("memory is short", cli::exit_bad_input);
  } catch (const std::exception& error) {
    return complain(error.what(), cli::exit_failed);
  }
}

// What `check FILE.cu -- ARG...` passes to the program; the command line ends before it.
std::vector<std::string> after_dashes(int& argc, char** argv) {
  if (argc < 2 || std::string_view(argv[1]) != "check") return {};
  for (int i = 2; i < argc; ++i) {
    if (std::string_view(argv[i]) != "--") continue;
    std::vector<std::string> words(argv + i + 1, argv + argc);
    argc = i;
    return words;
  }
  return {};
}

}  // namespace

// Setting the commands up throws only where a command is described wrongly.
// NOLINTNEXTLINE(bugprone-exception-escape)
int main(int argc, char** argv) {
  io::keep_standard_streams();
  cli::catch_signals();
  cli::keep_command_line(argc, argv);
  CLI::App app(
      "Transposes and permutes arrays in files at the speed of memory.\n"
      "The exit code is 0 when all is done, 1 when a verification fails, 2 when the input is "
      "wrong, and 130 after an interrupt.",
      "cornerturn");
  app.require_subcommand(1);
  cli::set_up_help(app);
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
  cli::add_check_command(app, after_dashes(argc, argv));
  cli::add_puzzle_command(app);
  cli::add_devices_command(app);
  cli::add_version_command(app);
  cli::add_generate_command(app);
  app.add_subcommand("rechunk",
                     "Writes an array or a dataset of zarr, HDF5, netCDF or .npy in other chunks; "
                     "the Python package has this command");
  cli::add_examples(app);

  const int code = answer(app, argc, argv);
  return io::finish_output() || code != 0 ? code : cli::exit_bad_input;
}
