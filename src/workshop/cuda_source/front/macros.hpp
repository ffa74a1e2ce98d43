// Macros that take arguments, as far as it matters which names they paste together.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "workshop/cuda_source/front/tokens.hpp"

namespace cornerturn::cuda_source {

class Macros {
 public:
  /// Remembers a #define of a macro that takes arguments; of others, and of other directives,
  /// nothing.
  void add(std::string_view directive);
  bool has(std::string_view name) const { return macros_.count(std::string(name)) != 0; }
  /// What the call at `at`, a name and "(", becomes in one step: arguments are put in and pasted.
  /// Empty where it is no call of a macro that is known.
  std::string expanded(const Tokens& tokens, std::size_t at) const;

 private:
  struct Macro {
    std::vector<std::string> parameters;
    std::string body;
  };
  std::map<std::string, Macro> macros_;
};

}  // namespace cornerturn::cuda_source
