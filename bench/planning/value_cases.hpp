// Random problems whose values become blocks, come from blocks, or are reduced: what the costs of
// those families on GPUs are fitted to.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/problem.hpp"

namespace cornerturn::bench {

struct ValueCase {
  std::string name;   ///< within its suite
  std::string group;  ///< "quantise", "dequantise" or "amax"
  std::string text;   ///< for people
  Problem problem;
  int element_bytes = 1;       ///< of the plain values
  std::int64_t src_bytes = 0;  ///< of all arrays on the side
  std::int64_t dst_bytes = 0;
  // Where the arrays of blocks lie, from the first on.
  std::int64_t scales_at = 0;
  std::int64_t second_at = 0;
  std::int64_t second_scales_at = 0;
};

/// Whether a suite of such cases has the name: "values:COUNT:SEED".
bool is_value_suite(std::string_view suite);

/// A name gives the same cases everywhere. Throws Error that names the part that is wrong.
std::vector<ValueCase> value_cases(const std::string& suite);

}  // namespace cornerturn::bench
