// The running program's own variables, from the symbol table of its executable.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace cornerturn::cuda_source {

struct Variable {
  std::string name;  ///< as C++ writes it
  std::uintptr_t address = 0;
  std::size_t bytes = 0;
};

struct ProgramSymbols {
  std::vector<Variable> shared;        ///< objects of thread-local storage, by address
  std::vector<Variable> plain_locals;  ///< thread-local storage of this library
  std::vector<Variable> device;        ///< objects of the section ct_device
  std::vector<Variable> managed;       ///< ct_managed
  std::vector<Variable> constant;      ///< ct_constant
  std::uintptr_t tls_first = 0;        ///< this thread's thread-local storage
  std::uintptr_t tls_bytes = 0;
  std::uintptr_t load_address = 0;  ///< what must be added to the file's addresses
  struct Span {
    std::uintptr_t first = 0;
    std::uintptr_t bytes = 0;
  };
  std::vector<Span> constants;  ///< parts of the program that nobody may write
};

/// Of the calling thread. Empty where the file cannot be read.
ProgramSymbols read_program_symbols();

}  // namespace cornerturn::cuda_source
