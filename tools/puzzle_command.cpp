// cornerturn puzzle: short CUDA sources with a gap, judged without a GPU.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "commands.hpp"
#include "cornerturn/error.hpp"
#include "files/file.hpp"
#include "files/output_file.hpp"
#include "io/print.hpp"
#include "puzzle_judge.hpp"
#include "puzzles.hpp"

namespace cornerturn::cli {
namespace {

namespace paths = std::filesystem;
using ListJson = nlohmann::ordered_json;

constexpr std::size_t most_shown = 3;         // errors: more do not help, and fill the screen
constexpr std::size_t most_lines_shown = 12;  // of what the program says

struct PuzzleArguments {
  std::string action;
  std::string which;  // its name, or its file
  std::string folder = ".";
  bool again = false;
  int hints = 0;
  bool solution = false;
  bool json = false;

  std::string file_of(const Puzzle& puzzle) const {
    return (folder == "." ? paths::path() : paths::path(folder)) / puzzle.file();
  }
  // A command of the same folder.
  std::string command(const std::string& words) const {
    return fmt::format("cornerturn puzzle {}{}", words,
                       folder == "." ? "" : fmt::format(" --folder {}", folder));
  }
};

[[noreturn]] void refuse_puzzle(const std::string& message) {
  throw Error(Status::invalid_argument, message);
}

bool is_there(const std::string& path) {
  std::error_code ignored;
  return paths::exists(paths::symlink_status(path, ignored));
}

enum class State { not_begun, open, solved };

const char* text_of_state(State state) {
  return state == State::solved ? "solved" : state == State::open ? "open" : "";
}

State state_of(const Puzzle& puzzle, const std::string& path, const HeldSignals& held) {
  if (!is_there(path)) return State::not_begun;
  try {
    const std::string text = files::read_text(path, "PUZZLE");
    if (text == puzzle.text) return State::open;
    return judge_puzzle(puzzle, path, text, held).solved() ? State::solved : State::open;
  } catch (const Error& error) {
    // It does not compile yet.
    if (error.status() == Status::invalid_argument) return State::open;
    throw;
  }
}

// All files that have been worked on are judged, several at a time.
std::vector<State> states_of(const std::vector<Puzzle>& puzzles, const PuzzleArguments& arguments) {
  const HeldSignals held;
  std::vector<State> states(puzzles.size());
  std::vector<std::exception_ptr> problems(puzzles.size());
  std::atomic<std::size_t> next = 0;
  const auto work = [&] {
    for (std::size_t i = next++; i < puzzles.size(); i = next++) {
      try {
        states[i] = state_of(puzzles[i], arguments.file_of(puzzles[i]), held);
      } catch (...) {
        problems[i] = std::current_exception();
      }
    }
  };
  std::vector<std::jthread> others;
  const unsigned processors = std::max(1U, std::thread::hardware_concurrency());
  for (unsigned i = 1; i < std::min<std::size_t>(processors, puzzles.size()); ++i) {
    others.emplace_back(work);
  }
  work();
  others.clear();  // waits for them
  for (const std::exception_ptr& problem : problems) {
    if (problem) std::rethrow_exception(problem);
  }
  return states;
}

void list_puzzles(const PuzzleArguments& arguments) {
  const std::vector<Puzzle> puzzles = read_puzzles();
  const std::vector<State> states = states_of(puzzles, arguments);
  const auto solved = std::count(states.begin(), states.end(), State::solved);
  const auto unsolved = std::find_if(states.begin(), states.end(),
                                     [](State state) { return state != State::solved; });
  ListJson all = {{"folder", arguments.folder}, {"solved", solved}, {"puzzles", ListJson::array()}};
  std::string table =
      fmt::format("    {:<10} {:<7}  {:<6}  {}\n", "puzzle", "chapter", "state", "it teaches");
  for (std::size_t i = 0; i < puzzles.size(); ++i) {
    const Puzzle& puzzle = puzzles[i];
    all["puzzles"].push_back(
        {{"name", puzzle.name},
         {"teaches", puzzle.teaches},
         {"chapters", puzzle.chapters},
         {"fault", puzzle.fault},
         {"file", arguments.file_of(puzzle)},
         {"state", states[i] == State::not_begun ? "not_begun" : text_of_state(states[i])}});
    table += fmt::format("{:>3} {:<10} {:<7}  {:<6}  {}\n", i + 1, puzzle.name,
                         fmt::format("{}", fmt::join(puzzle.chapters, ", ")),
                         text_of_state(states[i]), puzzle.teaches);
  }
  if (arguments.json) return io::print_json(all);
  table += fmt::format("\n{} of {} are solved.", solved, puzzles.size());
  if (unsolved != states.end()) {
    const Puzzle& next = puzzles[static_cast<std::size_t>(unsolved - states.begin())];
    table += *unsolved == State::open
                 ? fmt::format(" `{}` judges the next one.",
                               arguments.command(fmt::format("check {}", next.name)))
                 : fmt::format(" `{}` writes the next one.",
                               arguments.command(fmt::format("start {}", next.name)));
  }
  io::print("{}\n", table);
}

// The one that is named, or the first that is not in the folder.
const Puzzle& puzzle_to_start(const std::vector<Puzzle>& puzzles,
                              const PuzzleArguments& arguments) {
  if (!arguments.which.empty()) return puzzle_named(puzzles, arguments.which);
  for (const Puzzle& puzzle : puzzles) {
    if (!is_there(arguments.file_of(puzzle))) return puzzle;
  }
  refuse_puzzle(
      fmt::format("all puzzles are in '{}': name the one to put there --again", arguments.folder));
}

void start_puzzle(const PuzzleArguments& arguments) {
  const std::vector<Puzzle> puzzles = read_puzzles();
  const Puzzle& puzzle = puzzle_to_start(puzzles, arguments);
  const std::string path = arguments.file_of(puzzle);
  bool is_new = true;
  if (is_there(path) && !arguments.again) {
    if (files::read_text(path, "the puzzle") != puzzle.text) {
      refuse_puzzle(fmt::format(
          "'{}' is there and holds other text: --again replaces it with the puzzle", path));
    }
    is_new = false;
  } else {
    std::error_code error;
    if (!arguments.folder.empty()) paths::create_directory(arguments.folder, error);
    files::write_text(path, puzzle.text, "the puzzle");
  }
  if (arguments.json) {
    return io::print_json(ListJson{{"puzzle", puzzle.name}, {"file", path}, {"written", is_new}});
  }
  io::print("{} {}: {}.\nFill its gap, and then: `{}`\n", path,
            is_new ? "is there now" : "is there already, as it was written", puzzle.teaches,
            "cornerturn puzzle check " + path);
}

// What the program says, cut where it says much.
std::string said(const std::string& output) {
  std::size_t end = 0;
  for (std::size_t line = 0; line < most_lines_shown && end < output.size(); ++line) {
    end = std::min(output.find('\n', end), output.size() - 1) + 1;
  }
  std::string text = output.substr(0, end);
  if (!text.empty() && !text.ends_with('\n')) text += '\n';
  return end < output.size() ? text + "...\n" : text;
}

std::string hints_text(const Puzzle& puzzle, const PuzzleArguments& arguments) {
  const std::size_t shown =
      std::min(static_cast<std::size_t>(arguments.hints), puzzle.hints.size());
  std::string out;
  for (std::size_t i = 0; i < shown; ++i) {
    out += fmt::format("Hint {} of {}: {}\n", i + 1, puzzle.hints.size(), puzzle.hints[i]);
  }
  if (shown == puzzle.hints.size()) return out + "--solution shows a solution.\n";
  return out + fmt::format("--hint{} shows {}.\n", shown == 0 ? "" : fmt::format("={}", shown + 1),
                           shown == 0 ? "a hint" : "one hint more");
}

std::string judged_text(const std::vector<Puzzle>& puzzles, const Puzzle& puzzle,
                        const std::string& path, const Judged& judged,
                        const PuzzleArguments& arguments) {
  std::string out = said(judged.output);
  if (judged.solved()) {
    out += fmt::format("{}: solved.", path);
    const std::size_t next = static_cast<std::size_t>(&puzzle - puzzles.data()) + 1;
    if (next == puzzles.size()) return out + " It was the last one.\n";
    return out + fmt::format(" The next one: `{}`\n",
                             arguments.command(fmt::format("start {}", puzzles[next].name)));
  }
  for (std::size_t i = 0; i < std::min(judged.wrong.size(), most_shown); ++i) {
    out += finding_text(judged.wrong[i]) + "\n";
  }
  if (judged.wrong.size() > most_shown) {
    out += fmt::format(
        "... and {} more. `cornerturn check {}` shows all that it finds, and counts "
        "each line's accesses.\n\n",
        judged.wrong.size() - most_shown, path);
  }
  return out + fmt::format("{}: not solved yet.\n", path) + hints_text(puzzle, arguments);
}

// The puzzle's file: as it is named, or in the folder by the puzzle's name.
std::string file_to_check(const std::vector<Puzzle>& puzzles, const PuzzleArguments& arguments) {
  if (arguments.which.empty()) refuse_puzzle("check needs PUZZLE, a puzzle's file or its name");
  for (const Puzzle& puzzle : puzzles) {
    if (puzzle.name != arguments.which || is_there(arguments.which)) continue;
    std::string path = arguments.file_of(puzzle);
    if (is_there(path)) return path;
    refuse_puzzle(fmt::format("there is no '{}' yet: `{}` writes it", path,
                              arguments.command(fmt::format("start {}", puzzle.name))));
  }
  const bool is_name = paths::path(arguments.which).extension().empty();
  if (is_name && !is_there(arguments.which)) puzzle_named(puzzles, arguments.which);  // says which
  return arguments.which;
}

void show_solution(const std::vector<Puzzle>& puzzles, const PuzzleArguments& arguments) {
  const bool by_file = is_there(arguments.which);
  const Puzzle& puzzle =
      by_file ? puzzle_of(puzzles, files::read_text(arguments.which, "PUZZLE"), arguments.which)
              : puzzle_named(puzzles, arguments.which);
  const std::string text = solution_of(puzzle);
  if (arguments.json) {
    io::print_json(ListJson{{"puzzle", puzzle.name}, {"solution", text}});
  } else {
    io::print("{}", text);
  }
}

int check_puzzle(const PuzzleArguments& arguments) {
  const std::vector<Puzzle> puzzles = read_puzzles();
  if (arguments.solution && !arguments.which.empty()) {
    show_solution(puzzles, arguments);
    return 0;
  }
  const std::string path = file_to_check(puzzles, arguments);
  const std::string text = files::read_text(path, "PUZZLE");
  const Puzzle& puzzle = puzzle_of(puzzles, text, path);
  const HeldSignals held;
  const Judged judged = judge_puzzle(puzzle, path, text, held);
  if (arguments.json) {
    if (!judged.output.empty()) io::print_error(judged.output);
    const std::size_t hints =
        std::min(static_cast<std::size_t>(arguments.hints), puzzle.hints.size());
    io::print_json(ListJson{
        {"puzzle", puzzle.name},
        {"file", path},
        {"solved", judged.solved()},
        {"wrong", judged.wrong},
        {"hints",
         std::vector<std::string>(puzzle.hints.begin(),
                                  puzzle.hints.begin() + static_cast<std::ptrdiff_t>(hints))},
        {"report", judged.report}});
  } else {
    io::print("{}", judged_text(puzzles, puzzle, path, judged, arguments));
  }
  return judged.solved() ? 0 : exit_failed;
}

int do_puzzle(const PuzzleArguments& arguments) {
  const bool checks = arguments.action == "check";
  const bool starts = arguments.action == "start";
  if (!arguments.action.empty() && !checks && !starts) {
    refuse_puzzle(fmt::format("ACTION = '{}' is neither start nor check", arguments.action));
  }
  if (!checks && (arguments.hints != 0 || arguments.solution)) {
    refuse_puzzle("--hint and --solution are for check");
  }
  if (!starts && arguments.again) refuse_puzzle("--again is for start");
  if (arguments.hints < 0) refuse_puzzle("--hint takes a number from 1 on");
  if (checks) return check_puzzle(arguments);
  if (starts) {
    start_puzzle(arguments);
  } else {
    list_puzzles(arguments);
  }
  return 0;
}

}  // namespace

void add_puzzle_command(CLI::App& app) {
  auto arguments = std::make_shared<PuzzleArguments>();
  CLI::App& command = *app.add_subcommand(
      "puzzle",
      "Short CUDA sources with a gap to fill, from coalescing to swizzles: lists them, writes one, "
      "and judges it without a GPU");
  command
      .add_option("ACTION", arguments->action,
                  "start writes a puzzle to edit, check judges it; without one all are listed, "
                  "and those in the folder judged")
      ->type_name("start|check");
  command
      .add_option("PUZZLE", arguments->which,
                  "The puzzle's name, or, for check, its file; start without one takes the "
                  "first that is not in the folder")
      ->type_name("FILE");
  command
      .add_option("--folder", arguments->folder,
                  "Where the files of puzzles are (default: the current folder)")
      ->type_name("FOLDER");
  command.add_flag("--again", arguments->again,
                   "Replace a file that is there, whatever it holds, with the puzzle");
  command.add_flag("--hint", arguments->hints,
                   "Show a hint; --hint=2, or the option twice, shows two, and so on");
  command.add_flag("--solution", arguments->solution,
                   "Show a solution instead of judging the file");
  command.add_flag("--json", arguments->json, "Write the report as JSON");
  command.callback([arguments] {
    if (const int code = do_puzzle(*arguments); code != 0) throw CLI::RuntimeError(code);
  });
}

}  // namespace cornerturn::cli
