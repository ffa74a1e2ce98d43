// `cornerturn check` of a kernel of one's own: compiled, and run in the emulator.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace cornerturn::cli {

struct KernelCheck {
  std::string file;
  std::string kernel;               ///< empty: the only one in the file
  std::vector<std::string> shapes;  ///< "M,N"; empty: some that have edges and some that have none
  std::string dtype = "f32";
  std::string steps = "100000";
  std::string blocks = "1048576";
  std::string seconds = "20";
  bool json = false;
};

/// By its name, and where that says nothing by its text.
bool is_kernel_file(const std::string& path);

/// Prints the report and returns the exit code. Throws Error for a kernel that cannot be compiled,
/// and for one that uses what the emulator does not have.
int check_kernel_file(const KernelCheck& check);

}  // namespace cornerturn::cli
