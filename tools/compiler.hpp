// The C++ compiler that is here, and what it links programs with.
#pragma once

#include <string>
#include <vector>

#include "child_process.hpp"

namespace cornerturn::cli {

/// Runs the compiler: $CXX, or the first of c++, g++ and clang++ that is here. Throws Error
/// (unsupported) where there is none.
Finished run_compiler(const std::vector<std::string>& options, const std::string& temporary,
                      const HeldSignals& held);

/// The static library `name`.a: beside this program, where it is installed or in the Python
/// package, else in the folder that it was built in. Empty where there is none.
std::string static_library(const std::string& name);

/// The installed folder include/cornerturn/`name`; empty where this program is not installed.
std::string installed_headers(const std::string& name);

/// Where this program lies: the folder above its own.
std::string prefix_here();

/// What the emulator's library needs beside itself: options of the linker.
std::vector<std::string> emulator_needs();

}  // namespace cornerturn::cli
