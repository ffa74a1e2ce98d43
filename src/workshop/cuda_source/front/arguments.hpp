// What a kernel or a function without a main of its own is called with, and the main that does it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace cornerturn::cuda_source {

/// "in:f32[64,32]", "out:f32[64]", "f32[8]=1.5", "a.npy", "bf16[8]=a.npy", "i64=7", "1024", "true".
struct Argument {
  bool is_array = false;
  bool is_output = false;  ///< an array that nobody has written
  std::string type;        ///< "f32"; empty for a number as it stands, and where a file says it
  std::vector<std::int64_t> extents;  ///< of an array; empty where a file says them
  std::string value;                  ///< the number; of an array what fills it, or empty
  std::string path;                   ///< a .npy file that fills it, or empty
  std::int64_t offset = 0;            ///< where its elements begin in that file
};

/// Throws Error where `text`, a value of --arg, is none of these.
Argument parse_argument(const std::string& text);

/// Throws Error where kernels take no such arrays: of a type without a name in CUDA, without
/// elements, or of more than 2^32. `text` is what the error calls the argument.
void require_array(const Argument& argument, const std::string& text);

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
  std::string results;  ///< a folder, or empty
};

/// A main that fills the arrays, launches the kernel once and looks for an error. Where there was
/// none it writes the elements of the array arguments to the files arg0, arg1 ... in the folder
/// `results`, if that has a name.
std::string kernel_main(const KernelCall& call);

/// A main that calls a function of the host, which takes tensors and numbers. What it returns is
/// written to `results` as well: a line for each tensor or number in the file results, with its
/// type and extents, and the elements in result0, result1 ...
std::string function_main(const std::string& function, const std::vector<Argument>& arguments,
                          const std::string& results);

}  // namespace cornerturn::cuda_source
