// A program of tests/cuda_source/guests: compiled as the command compiles a CUDA source, run, and
// its report read.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "workshop/cuda_source/front/compiler.hpp"

namespace cornerturn::cuda_source {

inline std::string whole_file(const std::string& path) {
  std::ifstream stream(path);
  return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

class GuestProgram {
 public:
  /// `compiler`: g++ or clang++.
  GuestProgram(const std::string& compiler, const std::string& name) {
    std::string folder = (std::filesystem::temp_directory_path() / "cornerturn-XXXXXX").string();
    if (mkdtemp(folder.data()) == nullptr) return;
    folder_ = folder;
    const std::string root = CORNERTURN_SOURCE_DIR;
    source_ = root + "/tests/cuda_source/guests/" + name + ".cpp";
    CompileOptions options;
    options.guest = {root + "/src/workshop/cuda_source/guest"};
    std::string compile = compiler;
    for (const std::string& word :
         compile_words(compiler == "g++" ? Compiler::gnu : Compiler::clang, options, source_,
                       folder_ + "/guest.o", root + "/tests/cuda_source/guests")) {
      compile += " '" + word + "'";
    }
    compiles_ =
        call(compile) && call(compiler + " " + file("guest.o") + " " +
                              CORNERTURN_CUDA_SOURCE_LIBRARIES + " -lpthread -o " + file("guest"));
  }
  GuestProgram(const GuestProgram&) = delete;
  GuestProgram& operator=(const GuestProgram&) = delete;
  ~GuestProgram() {
    std::error_code ignored;
    if (!folder_.empty()) std::filesystem::remove_all(folder_, ignored);
  }

  bool compiles() const { return compiles_; }

  struct Run {
    int status = -1;  ///< 128 + n: ended by signal n
    std::string output;
    nlohmann::json report;
  };
  Run run(const std::string& argument, nlohmann::json config = nlohmann::json::object()) const {
    config["report"] = folder_ + "/report.json";
    std::ofstream(folder_ + "/config.json") << config.dump();
    std::filesystem::remove(folder_ + "/report.json");
    const int status =
        std::system(("ulimit -c 0; CORNERTURN_CHECK_CONFIG=" + file("config.json") + " " +
                     file("guest") + " " + argument + " > " + file("output") + " 2> /dev/null")
                        .c_str());
    Run result;
    result.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    result.output = whole_file(folder_ + "/output");
    result.report = nlohmann::json::parse(whole_file(folder_ + "/report.json"), nullptr, false);
    return result;
  }

  /// The line of the source that has this mark; 0 if none has.
  unsigned line_of(const std::string& mark) const {
    std::ifstream stream(source_);
    unsigned number = 0;
    for (std::string line; std::getline(stream, line);) {
      ++number;
      const std::size_t at = line.find("// ");
      if (at == std::string::npos) continue;
      if ((line.substr(at + 3) + " ").find(mark + " ") != std::string::npos) return number;
    }
    return 0;
  }

 private:
  std::string file(const char* name) const { return "'" + folder_ + "/" + name + "'"; }
  static bool call(const std::string& command) { return std::system(command.c_str()) == 0; }

  std::string folder_;
  std::string source_;
  bool compiles_ = false;
};

/// Compiled once for all tests.
inline const GuestProgram& guest_program(const std::string& compiler, const std::string& name) {
  static std::map<std::string, std::unique_ptr<GuestProgram>> known;
  auto& program = known[compiler + name];
  if (!program) program = std::make_unique<GuestProgram>(compiler, name);
  return *program;
}

inline bool has_compiler(const std::string& compiler) {
  return std::system(("command -v " + compiler + " > /dev/null").c_str()) == 0;
}

}  // namespace cornerturn::cuda_source
