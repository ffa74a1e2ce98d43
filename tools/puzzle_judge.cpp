#include "puzzle_judge.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "cuda_check.hpp"
#include "workshop/cuda_source/front/tokens.hpp"

namespace cornerturn::cli {
namespace {

using JudgeJson = nlohmann::ordered_json;

constexpr std::string_view rest_mark = "// ---- The rest of the puzzle";
constexpr const char* judge_seconds = "10";

JudgeJson error_of(const char* kind, const std::string& message, JudgeJson places) {
  return {{"kind", kind},
          {"severity", "error"},
          {"message", message},
          {"count", 1},
          {"places", std::move(places)}};
}

JudgeJson place_at(const std::string& file, std::int64_t line) {
  return JudgeJson::array({{{"file", file}, {"line", line}}});
}

// Tokens of the part that is not to be changed, without blanks: whoever lays it out anew, as
// editors do, changes nothing.
struct Rest {
  std::int64_t first_line = 0;  // of the source
  cuda_source::Tokens tokens;   // refer to the source
};

Rest rest_of(std::string_view source) {
  Rest rest;
  const std::size_t at = source.rfind(rest_mark);
  if (at == std::string_view::npos) return rest;
  rest.first_line =
      std::count(source.begin(), source.begin() + static_cast<std::ptrdiff_t>(at), '\n') + 1;
  for (const cuda_source::Token& token : cuda_source::tokens_of(source.substr(at))) {
    if (!token.is_blank()) rest.tokens.push_back(token);
  }
  return rest;
}

// The first line of `text` where that part differs from the puzzle's, or 0.
std::int64_t changed_line(const std::string& text, const std::string& original) {
  const Rest mine = rest_of(text);
  const Rest theirs = rest_of(original);
  if (mine.first_line == 0) return std::count(text.begin(), text.end(), '\n') + 1;
  for (std::size_t i = 0; i < std::max(mine.tokens.size(), theirs.tokens.size()); ++i) {
    if (i < mine.tokens.size() && i < theirs.tokens.size() &&
        mine.tokens[i].text == theirs.tokens[i].text) {
      continue;
    }
    const std::size_t at = std::min(i, mine.tokens.empty() ? 0 : mine.tokens.size() - 1);
    const std::size_t line = mine.tokens.empty() ? 1 : mine.tokens[at].line;
    return mine.first_line + static_cast<std::int64_t>(line) - 1;
  }
  return 0;
}

void add_shared(JudgeJson& wrong, const Puzzle& puzzle, const JudgeJson& kernel) {
  const std::int64_t bytes = kernel.value("static_shared", std::int64_t{0}) +
                             kernel.value("dynamic_shared", std::int64_t{0});
  if (!puzzle.shared || bytes <= *puzzle.shared) return;
  JudgeJson one =
      error_of("too_much_shared_memory",
               fmt::format("a block takes {} B; the puzzle allows {}", bytes, *puzzle.shared),
               place_at(kernel.value("file", ""), kernel.value("line", std::int64_t{0})));
  one["kernel"] = kernel["name"];
  wrong.push_back(one);
}

void add_requests(JudgeJson& wrong, const Puzzle& puzzle, const JudgeJson& kernels) {
  std::int64_t requests = 0;
  for (const JudgeJson& kernel : kernels) {
    for (const JudgeJson& line : kernel["lines"]) {
      const bool is_global = line.contains("sectors") && line["sectors"].is_object() &&
                             line["sectors"].value("ideal", 0.0) > 0;
      if (is_global) requests += line.value("requests", std::int64_t{0});
    }
  }
  if (!puzzle.requests || requests <= *puzzle.requests) return;
  wrong.push_back(error_of(
      "too_many_requests",
      fmt::format("all warps together make {} requests of global memory; the puzzle allows {}",
                  requests, *puzzle.requests),
      JudgeJson::array()));
}

// The errors of a report. The program's exit code is the verdict on its result.
JudgeJson errors_of(const JudgeJson& report) {
  JudgeJson errors = JudgeJson::array();
  for (const char* list : {"findings", "host", "over"}) {
    for (const JudgeJson& one : report[list]) {
      if (one["severity"] == "error" && one["kind"] != "exit_code") errors.push_back(one);
    }
  }
  if (report["exit_code"] == 1) {
    errors.push_back(
        error_of("wrong_result", "main has compared it with the right one", JudgeJson::array()));
  } else if (report["exit_code"] != 0 && errors.empty()) {
    errors.push_back(
        error_of("exit_code", "the program did not come to its end", JudgeJson::array()));
  }
  return errors;
}

}  // namespace

Judged judge_puzzle(const Puzzle& puzzle, const std::string& path, const std::string& text,
                    const HeldSignals& held) {
  CudaCheck check;
  check.seconds = judge_seconds;
  CudaRun run = run_cuda_file(check, path, held);
  judge(run.report, puzzle.lines);
  Judged judged;
  if (const std::int64_t line = changed_line(text, puzzle.text); line > 0) {
    judged.wrong.push_back(
        error_of("changed",
                 fmt::format("from its mark '{} ...' on, the file has to stay as it is", rest_mark),
                 place_at(path, line)));
  }
  for (const JudgeJson& one : errors_of(run.report)) judged.wrong.push_back(one);
  for (const JudgeJson& kernel : run.report["kernels"]) {
    add_shared(judged.wrong, puzzle, kernel);
  }
  add_requests(judged.wrong, puzzle, run.report["kernels"]);
  judged.report = std::move(run.report);
  judged.output = run.output + run.errors;
  return judged;
}

}  // namespace cornerturn::cli
