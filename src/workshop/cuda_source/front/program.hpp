// A program to check: the user's sources, rewritten, with a main where they have none.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "workshop/cuda_source/front/arguments.hpp"
#include "workshop/cuda_source/front/sources.hpp"

namespace cornerturn::cuda_source {

/// What is asked for: a kernel, a function, or neither: then the sources have a main.
struct Request {
  std::string kernel;
  std::vector<std::int64_t> grid;
  std::vector<std::int64_t> block;
  std::int64_t shared = 0;
  std::string function;
  std::vector<Argument> arguments;
  std::string results;  ///< a folder for the arrays after the launch, or empty
};

class Program {
 public:
  Program() = default;
  Program(Sources sources, Request request, std::vector<std::string> folders);

  const Sources& sources() const { return sources_; }
  /// Writes the rewritten sources to `folder` and returns the path of what is compiled. Throws
  /// Error with file and line where something that is needed is not understood.
  std::string write(const std::string& folder) const;
  /// Leaves out, after the compiler has refused the program, what the kernel that was asked for
  /// may not need: a header that is not there. False where there is nothing to leave out.
  bool leave_out(const std::string& said);

 private:
  Sources sources_;
  Request request_;
  std::vector<std::string> folders_;
  std::set<std::string> missing_;  ///< headers
};

/// Reads `file` and the headers of the user's own that it includes.
Program read_program(const std::string& file, const Request& request,
                     const std::vector<std::string>& folders);

/// What the linker did not find, in a sentence.
std::string link_error(const std::string& said, const Sources& sources);

}  // namespace cornerturn::cuda_source
