#include "puzzles.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string_view>

#include "compiler.hpp"
#include "cornerturn/error.hpp"
#include "files/file.hpp"

namespace cornerturn::cli {
namespace {

using PuzzleJson = nlohmann::ordered_json;

constexpr std::string_view first_words = "// Puzzle ";

// Beside this program, where it is installed or in the Python package, else in the tree that it was
// built from.
std::filesystem::path puzzle_folder() {
  const std::filesystem::path prefix = prefix_here();
  const std::filesystem::path tree =
      std::filesystem::path(CORNERTURN_SOURCE_DIR) / "examples" / "puzzles";
  for (const std::filesystem::path& folder :
       {prefix / CORNERTURN_DATADIR / "cornerturn" / "puzzles",
        prefix / "share" / "cornerturn" / "puzzles", tree}) {
    if (std::filesystem::exists(folder / "puzzles.json")) return folder;
  }
  throw Error(Status::unsupported,
              fmt::format("the puzzles are not in {}/share/cornerturn/puzzles: `cmake --install` "
                          "puts them there",
                          prefix.string()));
}

std::string text_in_folder(const std::string& name) {
  return files::read_text((puzzle_folder() / name).string(), "the puzzle");
}

// NAME and what it teaches, of "// Puzzle NAME: what it teaches".
std::pair<std::string, std::string> title_of(std::string_view text) {
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);  // as some editors begin a file
  std::string_view line = text.substr(0, text.find_first_of("\r\n"));
  const std::size_t colon = line.find(": ");
  if (!line.starts_with(first_words) || colon == std::string_view::npos) return {};
  return {std::string(line.substr(first_words.size(), colon - first_words.size())),
          std::string(line.substr(colon + 2))};
}

Puzzle puzzle_from(const PuzzleJson& json) {
  Puzzle puzzle;
  puzzle.name = json.at("name");
  puzzle.text = text_in_folder(puzzle.file());
  puzzle.teaches = title_of(puzzle.text).second;
  puzzle.chapters = json.at("chapters").get<std::vector<int>>();
  puzzle.fault = json.at("fault");
  puzzle.hints = json.at("hints").get<std::vector<std::string>>();
  puzzle.lines.set_by = "the puzzle";
  for (const auto& [what, limit] : json.at("limits").items()) {
    if (what == "wavefronts") puzzle.lines.wavefronts = limit;
    if (what == "sectors") puzzle.lines.sectors = limit;
    if (what == "shared") puzzle.shared = limit.get<std::int64_t>();
    if (what == "requests") puzzle.requests = limit.get<std::int64_t>();
  }
  return puzzle;
}

}  // namespace

std::vector<Puzzle> read_puzzles() {
  const PuzzleJson all = PuzzleJson::parse(text_in_folder("puzzles.json"));
  std::vector<Puzzle> puzzles;
  for (const PuzzleJson& one : all) puzzles.push_back(puzzle_from(one));
  return puzzles;
}

const Puzzle& puzzle_named(const std::vector<Puzzle>& puzzles, const std::string& name) {
  std::vector<std::string> names;
  for (const Puzzle& puzzle : puzzles) {
    if (puzzle.name == name) return puzzle;
    names.push_back(puzzle.name);
  }
  throw Error(Status::invalid_argument,
              fmt::format("PUZZLE = '{}' is none of {}", name, fmt::join(names, ", ")));
}

const Puzzle& puzzle_of(const std::vector<Puzzle>& puzzles, const std::string& text,
                        const std::string& path) {
  const std::string name = title_of(text).first;
  for (const Puzzle& puzzle : puzzles) {
    if (puzzle.name == name) return puzzle;
  }
  throw Error(
      Status::invalid_argument,
      fmt::format("PUZZLE = '{}' does not begin with '{}NAME: ...', as a puzzle's file does", path,
                  first_words));
}

std::string solution_of(const Puzzle& puzzle) {
  return text_in_folder("solutions/" + puzzle.file());
}

}  // namespace cornerturn::cli
