// One statement of inline assembly as C++ that does the same.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "workshop/cuda_source/front/assembly_text.hpp"

namespace cornerturn::cuda_source {

struct AssemblyOperand {
  std::string name;        ///< of "[name]", or empty
  std::string constraint;  ///< "=r", "l", "n"
  std::string expression;

  bool is_constant() const { return constraint == "n" || constraint == "i"; }
};

/// What operands of instructions are called in C++.
class AssemblyNames {
 public:
  explicit AssemblyNames(std::vector<AssemblyOperand> operands, std::size_t outputs)
      : operands_(std::move(operands)), outputs_(outputs) {}

  /// Copies of the inputs, which the statement begins with.
  std::string copies() const;
  /// `.reg .b32 a, b;` as variables; nothing where it is of a type that is not known.
  std::optional<std::string> declare(const AssemblyInstruction& registers);
  /// A value, or a place to put one; nothing where it is not understood.
  std::optional<std::string> value(const std::string& operand) const;
  /// Nothing for all that has no value of its own.
  std::optional<std::vector<std::string>> values(const std::string& operand) const;
  bool is_constant(const std::string& operand) const;

  struct Address {
    std::string base;
    std::string offset;
  };
  std::optional<Address> address(const std::string& operand) const;

 private:
  std::optional<std::size_t> index_of(const std::string& operand) const;

  std::vector<AssemblyOperand> operands_;
  std::size_t outputs_;
  std::map<std::string, std::string> registers_;
};

/// The C++ of one instruction; nothing where it is not understood.
std::optional<std::string> instruction_in_cpp(const AssemblyInstruction& instruction,
                                              const AssemblyNames& names);

}  // namespace cornerturn::cuda_source
