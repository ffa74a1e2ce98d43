#include "workshop/cuda_source/front/compiler.hpp"

#include <filesystem>
#include <regex>
#include <sstream>

namespace cornerturn::cuda_source {
namespace {

// A place of the user's in a note such as "a.cu:12:5:   required from here".
std::string users_place(const Sources& sources, const std::string& line) {
  static const std::regex place(R"((?:In file included from |from |\s+)?(/[^:]*):(\d+)[:,])");
  std::smatch found;
  if (!std::regex_search(line, found, place) || !sources.has(found[1])) return "";
  return sources.shown(found[1]) + ":" + found[2].str();
}

}  // namespace

Compiler compiler_by_version(const std::string& version) {
  return version.find("clang") != std::string::npos ? Compiler::clang : Compiler::gnu;
}

std::vector<std::string> compile_words(Compiler compiler, const CompileOptions& options,
                                       const std::string& source, const std::string& object,
                                       const std::string& beside) {
  // Each load and store calls a function of the runtime's. Copies of a vector type stay whole,
  // which they do in g++ where functions that take them by value are inlined.
  std::vector<std::string> words = {"-x",
                                    "c++",
                                    "-std=" + options.standard,
                                    "-g1",
                                    "-gdwarf-4",  // else addr2line names the rewritten copy
                                    "-fsanitize=thread",
                                    "-fno-strict-aliasing",
                                    "-fwrapv",
                                    "-w",
                                    "-fdiagnostics-color=never",
                                    "-Wno-narrowing"};
  const std::vector<std::string> own =
      compiler == Compiler::gnu
          ? std::vector<std::string>{"-O1",
                                     "-fno-tree-sra",
                                     "-fpermissive",
                                     "-finline-functions",
                                     "-finline-small-functions",
                                     "--param=max-inline-insns-auto=500",
                                     "--param=inline-unit-growth=400",
                                     "--param=large-function-growth=1000",
                                     "--param=early-inlining-insns=200",
                                     "--param=tsan-distinguish-volatile=1",
                                     "--param=tsan-instrument-func-entry-exit=0"}
          : std::vector<std::string>{"-O0", "-mllvm", "-tsan-distinguish-volatile=1", "-mllvm",
                                     "-tsan-instrument-func-entry-exit=0"};
  words.insert(words.end(), own.begin(), own.end());
  for (const std::string& folder : options.guest) words.push_back("-I" + folder);
  words.insert(words.end(), {"-include", "cornerturn_guest.hpp", "-iquote", beside});
  for (const std::string& folder : options.folders) words.push_back("-I" + folder);
  for (const std::string& definition : options.definitions) words.push_back("-D" + definition);
  words.insert(words.end(), {"-c", source, "-o", object});
  return words;
}

std::string first_error(const std::string& said, const Sources& sources) {
  static const std::regex error(R"(^(.*?):(\d+):(?:\d+:)? (?:fatal )?error: (.*)$)");
  std::istringstream lines(said);
  std::string from;   // the user's line that led to a header
  std::string other;  // an error elsewhere
  for (std::string line; std::getline(lines, line);) {
    std::smatch found;
    if (std::regex_match(line, found, error)) {
      if (sources.has(found[1])) {
        return sources.shown(found[1]) + ":" + found[2].str() + ": " + found[3].str();
      }
      if (other.empty()) {
        other = found[3].str() + " (at " +
                std::filesystem::path(found[1].str()).filename().string() + ":" + found[2].str() +
                ")";
        if (!from.empty()) return from + ": " + other;
      }
    } else if (const std::string place = users_place(sources, line); !place.empty()) {
      from = place;
      if (!other.empty()) return from + ": " + other;
    }
  }
  const std::string file = sources.files.front().name;
  if (!other.empty()) return file + ": " + other;
  return file + " cannot be compiled: " + said.substr(0, said.find('\n'));
}

std::string missing_header(const std::string& said) {
  static const std::regex missing(
      R"(fatal error: '?([^':\n]+)'?(?:: No such file or directory| file not found))");
  std::smatch found;
  return std::regex_search(said, found, missing) ? found[1].str() : "";
}

}  // namespace cornerturn::cuda_source
