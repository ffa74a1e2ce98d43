// The part of Python's literal syntax that .npy headers are written in.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace cornerturn::io {

/// A parsed literal: None, True, 12, 'text', (1, 2), [1, 2] or {'key': value}.
struct Literal {
  enum class Type { none, boolean, integer, string, tuple, list, dict };

  Type type = Type::none;
  std::int64_t integer = 0;    ///< the integer, or 0 and 1 for a boolean
  std::string_view text;       ///< the literal as it was written
  std::vector<Literal> items;  ///< members; keys and values alternately for a dict

  /// What a string says, between its quotes; escape sequences are left as they were written.
  std::string_view string() const noexcept {
    return type == Type::string ? text.substr(1, text.size() - 2) : std::string_view();
  }
};

/// Parses `text`, which has to be one literal and nothing more. The result points into `text`.
/// Throws Error with the position and the reason. Nesting is limited to 32 levels.
Literal parse_python_literal(std::string_view text);

}  // namespace cornerturn::io
