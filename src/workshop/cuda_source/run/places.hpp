// Addresses in the program's code become files and lines: by addr2line, once, at the end.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "workshop/cuda_source/run/where.hpp"

namespace cornerturn::cuda_source {

struct SourceLine {
  std::string file = "?";
  unsigned line = 0;

  friend bool operator==(const SourceLine&, const SourceLine&) = default;
  friend auto operator<=>(const SourceLine&, const SourceLine&) = default;
};

/// The user's line of each place: where a header of ours or of the compiler was inlined, the line
/// that it was inlined into. `?` where nothing is known.
std::vector<SourceLine> source_lines(const std::vector<Where>& places);

}  // namespace cornerturn::cuda_source
