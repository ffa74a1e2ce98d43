// The command lines that make a program of rewritten sources, and what a compiler says when it
// cannot.
#pragma once

#include <string>
#include <vector>

#include "workshop/cuda_source/front/sources.hpp"

namespace cornerturn::cuda_source {

enum class Compiler { gnu, clang };

/// Which one it is by what it says when asked for its version.
Compiler compiler_by_version(const std::string& version);

struct CompileOptions {
  std::string standard = "c++17";
  std::vector<std::string> folders;      ///< -I, of the user's
  std::vector<std::string> definitions;  ///< -D, of the user's
  std::vector<std::string> guest;        ///< the folders of the headers that stand for CUDA's
};

/// Options that compile `source` to `object`. `beside` is the folder of the user's file.
std::vector<std::string> compile_words(Compiler compiler, const CompileOptions& options,
                                       const std::string& source, const std::string& object,
                                       const std::string& beside);

/// The compiler's first error, at the user's own line: "a.cu:12: 'foo' was not declared ...".
std::string first_error(const std::string& said, const Sources& sources);

/// The header that an error says is missing, or empty.
std::string missing_header(const std::string& said);

}  // namespace cornerturn::cuda_source
