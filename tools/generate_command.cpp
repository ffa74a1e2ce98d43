// cornerturn generate: the man page and the shell completions, written from what the command line
// says of itself, so that they cannot differ from it.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "commands.hpp"
#include "cornerturn/error.hpp"
#include "cornerturn/version.hpp"
#include "io/print.hpp"

namespace cornerturn::cli {
namespace {

/// One option or positional argument, as all writers need it.
struct Argument {
  std::vector<std::string> names;  ///< "-t", "--threads"; for a positional its name alone
  bool positional = false;
  bool required = false;
  std::string value;                 ///< what stands for the value; empty for a flag
  std::vector<std::string> choices;  ///< the only values, where the value's name lists them: a|b
  std::string description;

  bool takes_file() const { return value == "FILE"; }
};

struct Command {
  std::string name;
  std::string description;
  std::vector<Argument> arguments;
};

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts(1);
  for (const char c : text) {
    if (c == separator) {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

Argument argument_of(const CLI::Option& option) {
  Argument argument;
  argument.positional = option.get_positional();
  argument.required = option.get_required();
  argument.description = option.get_description();
  if (option.get_items_expected_max() > 0) argument.value = option.get_type_name();
  if (argument.positional) {
    argument.names = {option.get_name(true)};
  } else {
    for (const std::string& name : option.get_snames()) argument.names.push_back("-" + name);
    for (const std::string& name : option.get_lnames()) argument.names.push_back("--" + name);
  }
  if (argument.value.find('|') != std::string::npos) argument.choices = split(argument.value, '|');
  return argument;
}

Command command_of(const CLI::App& app) {
  Command command{app.get_name(), app.get_description(), {}};
  for (const CLI::Option* option : app.get_options({})) {
    if (option->get_group().empty()) continue;  // hidden
    command.arguments.push_back(argument_of(*option));
  }
  return command;
}

std::vector<Command> commands_of(const CLI::App& app) {
  std::vector<Command> commands;
  for (const CLI::App* sub : app.get_subcommands({})) {
    if (!sub->get_group().empty()) commands.push_back(command_of(*sub));
  }
  return commands;
}

// Text within quotes of each kind of file.
std::string escaped(const std::string& text, const std::string& special, const std::string& with) {
  std::string result;
  for (const char c : text) {
    if (special.find(c) != std::string::npos) result += with;
    result += c == '\n' ? ' ' : c;
  }
  return result;
}

std::string shell_quoted(const std::string& text) {
  std::string result = "'";
  for (const char c : text) result += c == '\'' ? "'\\''" : std::string(1, c == '\n' ? ' ' : c);
  return result + "'";
}

std::string roff(const std::string& text) {
  std::string result;
  for (const char c : text) {
    if (c == '\\') {
      result += "\\e";
    } else if (c == '-') {
      result += "\\-";
    } else {
      if ((c == '.' || c == '\'') && (result.empty() || result.back() == '\n')) result += "\\&";
      result += c;
    }
  }
  return result;
}

std::string joined(const std::vector<std::string>& parts, const std::string& separator) {
  return fmt::format("{}", fmt::join(parts, separator));
}

std::string man_page(const CLI::App& app) {
  const std::vector<Command> commands = commands_of(app);
  std::string text =
      fmt::format(".TH CORNERTURN 1 \"\" \"cornerturn {}\" \"User Commands\"\n", version());
  text += ".SH NAME\ncornerturn \\- transposes and permutes arrays in files\n.SH SYNOPSIS\n";
  for (const Command& command : commands) {
    text += fmt::format(".B cornerturn {}\n", roff(command.name));
    if (std::any_of(command.arguments.begin(), command.arguments.end(),
                    [](const Argument& a) { return !a.positional; })) {
      text += "[options]\n";
    }
    for (const Argument& argument : command.arguments) {
      if (!argument.positional) continue;
      text += argument.required ? fmt::format(".I {}\n", roff(argument.names[0]))
                                : fmt::format(".RI [ {} ]\n", roff(argument.names[0]));
    }
    text += ".br\n";
  }
  text += ".SH DESCRIPTION\n" + roff(app.get_description()) + "\n.SH COMMANDS\n";
  for (const Command& command : commands) {
    text += fmt::format(".SS {}\n{}\n", roff(command.name), roff(command.description));
    for (const Argument& argument : command.arguments) {
      text += ".TP\n.B " + roff(joined(argument.names, ", "));
      // A list of choices that no line can hold goes below.
      const bool is_long = !argument.choices.empty() && argument.value.size() > 60;
      if (!argument.positional && !argument.value.empty()) {
        text += " \\fI" + (is_long ? std::string("NAME") : roff(argument.value)) + "\\fR";
      }
      text += "\n" + roff(argument.description) + "\n";
      if (is_long) text += roff("Names: " + joined(argument.choices, ", ") + ".") + "\n";
    }
  }
  text += ".SH ENVIRONMENT\n.TP\n.B CORNERTURN_THREADS\nAt most so many threads.\n";
  text += ".TP\n.B CORNERTURN_KERNEL\nUse this kernel.\n";
  text += ".TP\n.B CORNERTURN_WINNERS\nA file of kernels that were found to win.\n";
  text +=
      ".TP\n.B CORNERTURN_CPU\nThe processor that plans are made for: "
      "amd\\-zen4,cores=64,l3=32M.\n";
  return text;
}

std::string bash_completion(const CLI::App& app) {
  const std::vector<Command> commands = commands_of(app);
  std::string names;
  std::string cases;
  for (const Command& command : commands) {
    names += (names.empty() ? "" : " ") + command.name;
    std::string options;
    std::string values;
    for (const Argument& argument : command.arguments) {
      if (argument.positional) continue;
      for (const std::string& name : argument.names) {
        options += (options.empty() ? "" : " ") + name;
      }
      if (argument.value.empty()) continue;
      std::string reply;
      if (!argument.choices.empty()) {
        reply = fmt::format("COMPREPLY=($(compgen -W {} -- \"$word\")); ",
                            shell_quoted(joined(argument.choices, " ")));
      } else if (argument.takes_file()) {
        reply = "COMPREPLY=($(compgen -f -- \"$word\")); ";
      }
      values += fmt::format("        {}) {}return ;;\n", joined(argument.names, "|"), reply);
    }
    cases += fmt::format("    {})\n", command.name);
    if (!values.empty()) {
      cases += "      case \"$before\" in\n" + values + "      esac\n";
    }
    cases += fmt::format("      options={} ;;\n", shell_quoted(options));
  }
  return fmt::format(
      "# bash completion for cornerturn\n"
      "_cornerturn() {{\n"
      "  local word=\"${{COMP_WORDS[COMP_CWORD]}}\" before=\"${{COMP_WORDS[COMP_CWORD-1]}}\"\n"
      "  local options=\n"
      "  COMPREPLY=()\n"
      "  if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
      "    COMPREPLY=($(compgen -W {} -- \"$word\"))\n"
      "    return\n"
      "  fi\n"
      "  case \"${{COMP_WORDS[1]}}\" in\n{}  esac\n"
      "  case \"$word\" in\n"
      "    -*) COMPREPLY=($(compgen -W \"$options\" -- \"$word\")) ;;\n"
      "    *) COMPREPLY=($(compgen -f -- \"$word\")) ;;\n"
      "  esac\n"
      "}}\n"
      "complete -o filenames -F _cornerturn cornerturn\n",
      shell_quoted(names + " --help"), cases);
}

std::string zsh_completion(const CLI::App& app) {
  const std::vector<Command> commands = commands_of(app);
  std::string names;
  std::string cases;
  for (const Command& command : commands) {
    names +=
        "    " + shell_quoted(command.name + ":" + escaped(command.description, ":", "\\")) + "\n";
    cases += fmt::format("      {})\n        _arguments", command.name);
    for (const Argument& argument : command.arguments) {
      std::string value;
      if (!argument.value.empty()) {
        const std::string action = !argument.choices.empty()
                                       ? "(" + joined(argument.choices, " ") + ")"
                                   : argument.takes_file() ? "_files"
                                                           : " ";
        value = ":" + escaped(argument.value, ":", "\\") + ":" + action;
      }
      if (argument.positional) {
        cases +=
            " \\\n          " + shell_quoted((argument.required ? ":" : "::") + argument.names[0] +
                                             ":" + (argument.takes_file() ? "_files" : " "));
        continue;
      }
      for (const std::string& name : argument.names) {
        cases +=
            " \\\n          " +
            shell_quoted(name + "[" + escaped(argument.description, "[]:\\", "\\") + "]" + value);
      }
    }
    cases += "\n        ;;\n";
  }
  return fmt::format(
      "#compdef cornerturn\n"
      "_cornerturn() {{\n"
      "  local curcontext=\"$curcontext\" state line\n"
      "  local -a commands=(\n{}  )\n"
      "  _arguments -C '1: :->command' '*:: :->arguments'\n"
      "  case $state in\n"
      "  command) _describe command commands ;;\n"
      "  arguments)\n"
      "    case $line[1] in\n{}    esac\n"
      "    ;;\n"
      "  esac\n"
      "}}\n"
      "if [ \"$funcstack[1]\" = _cornerturn ]; then _cornerturn \"$@\"; else compdef _cornerturn "
      "cornerturn; fi\n",
      names, cases);
}

std::string fish_completion(const CLI::App& app) {
  std::string text =
      "# fish completion for cornerturn\n"
      "complete -c cornerturn -n __fish_use_subcommand -f\n";
  for (const Command& command : commands_of(app)) {
    text += fmt::format("complete -c cornerturn -n __fish_use_subcommand -a {} -d {}\n",
                        command.name, shell_quoted(command.description));
    const std::string within = shell_quoted("__fish_seen_subcommand_from " + command.name);
    for (const Argument& argument : command.arguments) {
      if (argument.positional) continue;
      text += "complete -c cornerturn -n " + within;
      for (const std::string& name : argument.names) {
        text += name[1] == '-' ? " -l " + name.substr(2) : " -s " + name.substr(1);
      }
      if (!argument.value.empty()) {
        text += argument.takes_file() ? " -r -F" : " -x";
        if (!argument.choices.empty()) {
          text += " -a " + shell_quoted(joined(argument.choices, " "));
        }
      }
      text += " -d " + shell_quoted(argument.description) + "\n";
    }
  }
  return text;
}

}  // namespace

void add_generate_command(CLI::App& app) {
  auto what = std::make_shared<std::string>();
  CLI::App& command = *app.add_subcommand(
      "generate", "Writes the man page or a shell completion to standard output");
  command.group("");
  command.add_option("WHAT", *what)->required()->type_name("man|bash|zsh|fish");
  command.callback([what, &app] {
    struct Writer {
      const char* name;
      std::string (*write)(const CLI::App& app);
    };
    constexpr Writer writers[] = {{"man", man_page},
                                  {"bash", bash_completion},
                                  {"zsh", zsh_completion},
                                  {"fish", fish_completion}};
    for (const Writer& writer : writers) {
      if (*what != writer.name) continue;
      io::print_as_is(writer.write(app));
      return;
    }
    throw Error(Status::invalid_argument,
                fmt::format("WHAT = '{}' is none of man, bash, zsh, fish", *what));
  });
}

}  // namespace cornerturn::cli
