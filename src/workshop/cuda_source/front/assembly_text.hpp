// The text of inline assembly (PTX) as instructions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace cornerturn::cuda_source {

struct AssemblyInstruction {
  std::string guard;                  ///< the predicate of "@p" or "@!p", without "@"; or empty
  std::vector<std::string> opcode;    ///< "ld", "global", "v4", "f32"; "{" and "}" for scopes
  std::vector<std::string> operands;  ///< "%0", "[%1 + 16]", "{%2, %3}"

  const std::string& name() const { return opcode.front(); }
  bool has(std::string_view modifier) const;
  /// "ld.global.v4.f32"
  std::string text() const;
};

/// Throws nothing: what is no instruction becomes one that nobody knows.
std::vector<AssemblyInstruction> instructions_of(std::string_view assembly);

/// "a", "b" of "{a, b}"; just the operand itself where it has no braces.
std::vector<std::string> parts_of(const std::string& operand);

/// The characters that a literal of the source stands for, of "..." and R"(...)" alike.
std::string literal_value(std::string_view literal);

}  // namespace cornerturn::cuda_source
