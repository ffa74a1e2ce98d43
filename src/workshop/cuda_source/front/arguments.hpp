// What a kernel or a function without a main of its own is called with, and the main that does it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace cornerturn::cuda_source {

/// "in:f32[64,32]", "out:f32[64]", "f32[8]=1.5", "i64=7", "1024", "true".
struct Argument {
  bool is_array = false;
  bool is_output = false;             ///< an array that nobody has written
  std::string type;                   ///< "f32"; empty for a number as it stands
  std::vector<std::int64_t> extents;  ///< of an array
  std::string value;                  ///< the number; of an array what fills it, or empty
};

/// Throws Error where `text`, a value of --arg, is none of these.
Argument parse_argument(const std::string& text);

/// "32", "32,8" or "32,8,4" as three numbers. Throws Error, which begins with `option`.
std::vector<std::int64_t> parse_dimensions(const std::string& option, const std::string& text);

struct KernelCall {
  std::string kernel;  ///< with its template arguments
  std::vector<std::int64_t> grid;
  std::vector<std::int64_t> block;
  std::int64_t shared = 0;  ///< dynamic shared memory in bytes
  std::vector<Argument> arguments;
  std::string file;  ///< where the kernel stands
  std::size_t line = 0;
};

/// A main that fills the arrays, launches the kernel once and looks for an error.
std::string kernel_main(const KernelCall& call);

/// A main that calls a function of the host, which takes tensors and numbers.
std::string function_main(const std::string& function, const std::vector<Argument>& arguments);

}  // namespace cornerturn::cuda_source
