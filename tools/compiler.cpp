#include "compiler.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <sstream>

#include "cornerturn/error.hpp"

namespace cornerturn::cli {
namespace {

namespace fs = std::filesystem;

bool is_on_the_path(const std::string& program) {
  const char* path = std::getenv("PATH");
  std::istringstream folders(path != nullptr ? path : "/usr/local/bin:/usr/bin:/bin");
  for (std::string folder; std::getline(folders, folder, ':');) {
    if (access((fs::path(folder) / program).c_str(), X_OK) == 0) return true;
  }
  return false;
}

std::vector<std::string> compiler_words() {
  const char* named = std::getenv("CXX");
  std::istringstream text(named != nullptr ? named : "");
  std::vector<std::string> words(std::istream_iterator<std::string>(text), {});
  for (const char* program : {"c++", "g++", "clang++"}) {
    if (words.empty() && is_on_the_path(program)) words = {program};
  }
  if (words.empty()) {
    throw Error(Status::unsupported,
                "check needs a C++ compiler, and neither c++ nor g++ nor clang++ is on the PATH: "
                "install one (on Debian and Ubuntu: apt-get install g++), or name one by CXX");
  }
  return words;
}

}  // namespace

Finished run_compiler(const std::vector<std::string>& options, const std::string& temporary,
                      const HeldSignals& held) {
  std::vector<std::string> words = compiler_words();
  words.insert(words.end(), options.begin(), options.end());
  Allowed allowed;
  allowed.cpu_seconds = compile_seconds;
  allowed.temporary = temporary;
  try {
    return run_program(words, allowed, held);
  } catch (const Error& error) {
    if (error.status() != Status::unsupported) throw;
    throw Error(Status::unsupported, fmt::format("CXX = '{}': check needs a C++ compiler, and {}",
                                                 words[0], error.what()));
  }
}

std::string prefix_here() {
  std::error_code ignored;
  return fs::read_symlink("/proc/self/exe", ignored).parent_path().parent_path().string();
}

std::string static_library(const std::string& name) {
  for (const char* folder : {CORNERTURN_LIBDIR, "lib"}) {
    const fs::path library = fs::path(prefix_here()) / folder / (name + ".a");
    if (fs::exists(library)) return library.string();
  }
  return "";
}

std::string installed_headers(const std::string& name) {
  for (const char* folder : {CORNERTURN_INCLUDEDIR, "include"}) {
    const fs::path headers = fs::path(prefix_here()) / folder / "cornerturn" / name;
    if (fs::exists(headers)) return headers.string();
  }
  return "";
}

std::vector<std::string> emulator_needs() {
  std::istringstream text(CORNERTURN_EMULATOR_NEEDS);
  return {std::istream_iterator<std::string>(text), {}};
}

}  // namespace cornerturn::cli
