// Is a puzzle solved? Its program is compiled, run and watched as `cornerturn check` does it.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "puzzles.hpp"
#include "signals.hpp"

namespace cornerturn::cli {

struct Judged {
  bool solved() const { return wrong.empty(); }
  nlohmann::ordered_json wrong = nlohmann::ordered_json::array();  ///< errors, as findings
  nlohmann::ordered_json report;                                   ///< of the check
  std::string output;                                              ///< what the program has said
};

/// Judges `text`, the contents of the file `path`. Throws Error where it cannot be compiled.
Judged judge_puzzle(const Puzzle& puzzle, const std::string& path, const std::string& text,
                    const HeldSignals& held);

}  // namespace cornerturn::cli
