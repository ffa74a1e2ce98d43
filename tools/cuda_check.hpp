// `cornerturn check` of a CUDA source: it is rewritten, compiled for this machine and run, with
// every access to memory looked at.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "signals.hpp"

namespace cornerturn::cli {

struct CudaCheck {
  std::vector<std::string> files;
  std::string kernel;  ///< with its template arguments; empty: the program has a main
  std::string call;    ///< a function of the host
  std::string grid;
  std::string block;
  std::string shared;  ///< bytes
  std::vector<std::string> arguments;
  std::vector<std::string> folders;      ///< -I
  std::vector<std::string> definitions;  ///< -D
  std::string standard = "c++17";
  std::string device = "h200";
  std::string steps = "10000000";
  std::string blocks = "0";
  std::string seconds = "60";
  std::string max_wavefronts;
  std::string max_sectors;
  std::string sarif;
  std::string save;  ///< a folder for the arrays after the launch
  bool json = false;
  std::vector<std::string> program_arguments;
};

/// Is it CUDA, by its name or by its text?
bool is_cuda_file(const std::string& path);

/// What has come of one file: its report, which nobody has judged, and what its program has said.
struct CudaRun {
  nlohmann::ordered_json report;
  std::string output;
  std::string errors;
};

/// Compiles and runs one file, whatever `check.files` says, and prints nothing. Throws Error where
/// it cannot be compiled or needs what cannot be run here.
CudaRun run_cuda_file(const CudaCheck& check, const std::string& file, const HeldSignals& held);

/// Prints the reports of all files and returns the exit code.
int check_cuda_files(const CudaCheck& check);

}  // namespace cornerturn::cli
