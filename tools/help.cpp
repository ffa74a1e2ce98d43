#include "help.hpp"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <numeric>
#include <sstream>
#include <string_view>

#include "cornerturn/error.hpp"
#include "cornerturn/version.hpp"

namespace cornerturn::cli {
namespace {

constexpr std::size_t usual_width = 80;
constexpr std::size_t most_width = 100;  // longer lines are hard to read
constexpr std::size_t least_width = 40;

struct Examples {
  const char* command;  // empty for those of the program
  const char* lines;
};

// A test runs each line.
constexpr Examples all_examples[] = {
    {"",
     "  cornerturn transpose in.npy out.npy --perm 2,0,1\n"
     "  cornerturn help transpose"},
    {"transpose",
     "  cornerturn transpose in.npy out.npy --perm 2,0,1\n"
     "  cornerturn transpose photo.npy planes.npy --pattern \"h w c -> c h w\" --verify\n"
     "  cornerturn transpose in.npy out.npy --memory 2GiB\n"
     "  cornerturn transpose in.npy out.npy --to bf16\n"
     "  cornerturn transpose in.npy out.npy --index rows.npy --perm 0,1,2\n"
     "  cornerturn transpose in.npy --in-place\n"
     "  cornerturn transpose in.raw out.raw --raw --shape 480,640,3 --dtype u8"},
    {"plan",
     "  cornerturn plan in.npy --perm 2,0,1 --explain\n"
     "  cornerturn plan --shape 8,4096,32,128 --perm 0,2,1,3 --dtype f16 --on h200"},
    {"info", "  cornerturn info in.npy"},
    {"bench",
     "  cornerturn bench --suite everyday --max-bytes 64MB --json results.json\n"
     "  cornerturn bench --case 'matrix_*' --list"},
    {"ladder",
     "  cornerturn ladder --shape 128,128\n"
     "  cornerturn ladder --shape 128,128 --rung smem --json"},
    {"analyse",
     "  cornerturn analyse smem\n"
     "  cornerturn analyse \"Swizzle<3,3,3> o (8,64):(64,1)\""},
    {"draw",
     "  cornerturn draw tile \"Swizzle<3,2,5> o (32,32):(32,1)\"\n"
     "  cornerturn draw tile \"(8,64):(64,1)\" --svg tile.svg"},
    {"explain",
     "  cornerturn explain \"(64,64):(64,1)\" --access columns\n"
     "  cornerturn explain \"Sw<3,4,3> o smem_ptr[16b](unset) o (_8,_64):(_64,_1)\" --access "
     "rows:load:16"},
    {"solve", "  cornerturn solve --tile 32x32 --write rows --read columns"},
    {"convert-swizzle", "  cornerturn convert-swizzle \"Swizzle<3,2,3>\" --dtype f32"},
    {"check", "  cornerturn check layouts.toml"},
    {"puzzle",
     "  cornerturn puzzle\n"
     "  cornerturn puzzle start coalesce --folder puzzles\n"
     "  cornerturn puzzle check coalesce --solution"},
    {"devices", "  cornerturn devices --json"},
    {"version", "  cornerturn version"},
};

std::size_t terminal_width() {
  std::size_t width = usual_width;
  winsize size{};
  const char* columns = std::getenv("COLUMNS");
  if (columns != nullptr && std::atoi(columns) > 0) {
    width = static_cast<std::size_t>(std::atoi(columns));
  } else if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) {
    width = size.ws_col;
  }
  return std::clamp(width, least_width, most_width);
}

// The words of `text` in lines of at most `width`, where a longer word has a line of its own; its
// own line breaks stay. Names in a list such as copy|rows may be parted too.
std::vector<std::string> wrapped(std::string_view text, std::size_t width) {
  std::vector<std::string> lines(1);
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t end = std::min(text.find_first_of(" \n|", at), text.size());
    const bool is_list = end < text.size() && text[end] == '|';
    const std::string_view word = text.substr(at, end - at + (is_list ? 1 : 0));
    if (!lines.back().empty() && lines.back().size() + word.size() > width) {
      while (!lines.back().empty() && lines.back().back() == ' ') lines.back().pop_back();
      lines.emplace_back();
    }
    lines.back() += word;
    if (end < text.size() && text[end] == ' ') lines.back() += ' ';
    if (end < text.size() && text[end] == '\n') lines.emplace_back();
    at = end + 1;
  }
  for (std::string& line : lines) line.erase(line.find_last_not_of(' ') + 1);
  return lines;
}

class Format : public CLI::Formatter {
 public:
  Format() : width_(terminal_width()) { column_width(width_ < usual_width ? 24 : 34); }

  std::string make_option(const CLI::Option* option, bool is_positional) const override {
    return entry(make_option_name(option, is_positional) + make_option_opts(option),
                 make_option_desc(option));
  }
  std::string make_subcommand(const CLI::App* command) const override {
    return entry(command->get_name(), command->get_description());
  }
  std::string make_description(const CLI::App* command) const override {
    return fmt::format("{}\n", fmt::join(wrapped(command->get_description(), width_), "\n"));
  }

 private:
  // A name in the left column, and what it stands for in the right one.
  std::string entry(const std::string& name, const std::string& description) const {
    std::ostringstream text;
    const std::size_t column = get_column_width();
    const std::string names = fmt::format("{}", fmt::join(wrapped(name, width_ - 8), "\n        "));
    CLI::detail::format_help(
        text, names, fmt::format("{}", fmt::join(wrapped(description, width_ - column), "\n")),
        column);
    return text.str();
  }

  std::size_t width_;
};

// How many letters have to be left out, put in, exchanged or swapped with the next one.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<std::size_t>> steps(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) steps[i][0] = i;
  std::iota(steps[0].begin(), steps[0].end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t other = a[i - 1] == b[j - 1] ? 0 : 1;
      steps[i][j] =
          std::min({steps[i - 1][j] + 1, steps[i][j - 1] + 1, steps[i - 1][j - 1] + other});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        steps[i][j] = std::min(steps[i][j], steps[i - 2][j - 2] + 1);
      }
    }
  }
  return steps[a.size()][b.size()];
}

// ": did you mean X?", or nothing where no word is near.
std::string suggestion(std::string_view word, const std::vector<std::string>& known) {
  constexpr std::size_t longest = 40;  // no word that is known is longer
  const std::string* nearest = nullptr;
  std::size_t least = 0;
  if (word.size() > longest) return "";
  for (const std::string& candidate : known) {
    const bool begins = word.size() >= 4 && candidate.rfind(word, 0) == 0;
    const std::size_t steps = begins ? 1 : distance(word, candidate);
    if (steps > (word.size() + 2) / 4 + 1 || steps >= candidate.size()) continue;
    if (nearest == nullptr || steps < least) {
      nearest = &candidate;
      least = steps;
    }
  }
  return nearest == nullptr ? "" : fmt::format(": did you mean {}?", *nearest);
}

std::vector<std::string> commands_of_app(const CLI::App& app) {
  std::vector<std::string> names = {"help"};
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    names.push_back(command->get_name());
  }
  return names;
}

std::vector<std::string> options_of(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_snames()) names.push_back("-" + name);
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

bool is_among(const std::string& word, const std::vector<std::string>& words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

void require_known(const CLI::App& app, const std::string& word) {
  const bool is_option = word.rfind('-', 0) == 0;
  const std::vector<std::string> known = is_option ? options_of(app) : commands_of_app(app);
  if (is_among(word, known)) return;
  const std::string nearest = suggestion(word, known);
  throw Error(Status::invalid_argument,
              fmt::format("'{}' is no {}{}{} 'cornerturn --help' lists all", word,
                          is_option ? "option of cornerturn" : "command", nearest,
                          nearest.empty() ? ":" : ""));
}

std::string& kept_command_line() {
  static std::string line;
  return line;
}

}  // namespace

void set_up_help(CLI::App& app) {
  app.formatter(std::make_shared<Format>());
  app.set_version_flag("-V,--version", fmt::format("cornerturn {}", version()),
                       "Say which version this is");
}

void add_examples(CLI::App& app) {
  for (const Examples& examples : all_examples) {
    const std::string text = std::string("Examples:\n") + examples.lines;
    if (*examples.command == '\0') {
      app.footer(text);
    } else {
      app.get_subcommand(examples.command)->footer(text);
    }
  }
}

std::vector<std::string> words_to_parse(const CLI::App& app, std::vector<std::string> words) {
  if (!words.empty() && words[0] == "help") {
    if (words.size() == 1) return {"--help"};
    words = {words[1], "--help"};
  }
  if (!words.empty()) require_known(app, words[0]);
  return words;
}

std::string unexpected_words(const CLI::App& app) {
  const std::vector<CLI::App*> commands = app.get_subcommands();
  const CLI::App& taker = commands.empty() ? app : *commands.front();
  const std::vector<std::string> words = app.remaining(true);
  const std::string word = words.empty() ? "" : words.front();
  if (word.rfind('-', 0) != 0) {
    return fmt::format("'{}' is a word more than {} takes", word, taker.get_name());
  }
  const std::string name = word.substr(0, word.find('='));
  const std::string nearest = suggestion(name, options_of(taker));
  return fmt::format("'{}' is no option of {}{}{} 'cornerturn {} --help' lists all", name,
                     taker.get_name(), nearest, nearest.empty() ? ":" : "", taker.get_name());
}

void keep_command_line(int argc, const char* const* argv) {
  constexpr std::string_view plain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=.,:/@%";
  std::string& line = kept_command_line();
  line = "cornerturn";
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    line += ' ';
    if (!word.empty() && word.find_first_not_of(plain) == std::string_view::npos) {
      line += word;
      continue;
    }
    line += '\'';
    for (const char c : word) line += c == '\'' ? std::string("'\\''") : std::string(1, c);
    line += '\'';
  }
}

const std::string& command_line() {
  return kept_command_line();
}

}  // namespace cornerturn::cli
