// The puzzles of `cornerturn puzzle`: short CUDA sources with a gap, as they lie beside the
// program.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cuda_report.hpp"

namespace cornerturn::cli {

struct Puzzle {
  std::string name;
  std::string text;           ///< the source with the gap
  std::string teaches;        ///< what its first line says
  std::vector<int> chapters;  ///< of the guide
  std::string fault;          ///< the kind of finding that the gap makes
  std::vector<std::string> hints;

  // What a solution may take at most.
  ReportLimits lines;                    ///< of each line
  std::optional<std::int64_t> shared;    ///< bytes of shared memory of a block
  std::optional<std::int64_t> requests;  ///< of global memory, by all warps together

  std::string file() const { return name + ".cu"; }
};

/// All puzzles, from easy to hard. Throws Error where they are not there.
std::vector<Puzzle> read_puzzles();

/// The puzzle of this name. Throws Error.
const Puzzle& puzzle_named(const std::vector<Puzzle>& puzzles, const std::string& name);

/// The puzzle that `text`, the contents of the file `path`, names in its first line. Throws Error.
const Puzzle& puzzle_of(const std::vector<Puzzle>& puzzles, const std::string& text,
                        const std::string& path);

/// The source of a solution.
std::string solution_of(const Puzzle& puzzle);

}  // namespace cornerturn::cli
