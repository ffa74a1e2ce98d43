// What the command line says of itself: its help, which is wrapped to the terminal, with examples,
// and the nearest word where one is wrong.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace cornerturn::cli {

/// Before the commands are added, which take the format of their help from `app`.
void set_up_help(CLI::App& app);
/// After they are added.
void add_examples(CLI::App& app);

/// What `app` is to parse for these words, where `help` and `help COMMAND` are other words for
/// --help. Throws Error for a first word that is neither a command nor an option.
std::vector<std::string> words_to_parse(const CLI::App& app, std::vector<std::string> words);
/// What to say of words that no command takes.
std::string unexpected_words(const CLI::App& app);

/// The command as it was given, for messages that say how to go on.
void keep_command_line(int argc, const char* const* argv);
const std::string& command_line();

}  // namespace cornerturn::cli
