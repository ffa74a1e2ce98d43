// Permutations in words: "h w c -> c h w".
#pragma once

#include <string_view>
#include <vector>

namespace cornerturn::io {

/// The permutation that `pattern` describes for an array of rank `rank`: axis i of the result is
/// axis result[i] of the source. Names are letters, digits and '_', apart by spaces or commas; each
/// stands once on either side of "->". "..." on both sides stands for the axes that have no name:
/// "... h w -> ... w h". Throws Error with the column and the rule.
std::vector<int> parse_pattern(std::string_view pattern, int rank);

}  // namespace cornerturn::io
