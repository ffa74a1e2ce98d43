// cornerturn check: a linter for other people's layouts and kernels, for CI.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "check_file.hpp"
#include "commands.hpp"
#include "cornerturn/error.hpp"
#include "cuda_check.hpp"
#include "files/file.hpp"
#include "io/print.hpp"
#include "kernel_check.hpp"
#include "plan/gpu/device_files.hpp"
#include "workshop/lab/check.hpp"

namespace cornerturn::cli {
namespace {

struct CheckArguments {
  CudaCheck cuda;  // all files, and what kernels in the kernel form are told as well
  std::vector<std::string> shapes;
  std::string dtype = "f32";
  std::vector<CLI::Option*> of_forms;  // options of kernels in the kernel form alone
  std::vector<CLI::Option*> of_both;   // of all kernels
  std::vector<CLI::Option*> of_cuda;   // of CUDA sources alone
};

void refuse_given(const std::vector<CLI::Option*>& options, const std::string& what,
                  const std::string& file, const std::string& holds) {
  for (const CLI::Option* option : options) {
    if (option->count() == 0) continue;
    throw Error(Status::invalid_argument, fmt::format("{} is for {}, and {} holds {}",
                                                      option->get_name(), what, file, holds));
  }
}

bool is_given(const CheckArguments& arguments, const char* name) {
  for (const CLI::Option* option : arguments.of_both) {
    if (option->get_name() == name) return option->count() > 0;
  }
  return false;
}

// A kernel in the kernel form has limits of its own.
int check_form(const CheckArguments& arguments, const std::string& file) {
  refuse_given(arguments.of_cuda, "CUDA sources", file, "a kernel in the kernel form");
  KernelCheck check;
  check.file = file;
  check.kernel = arguments.cuda.kernel;
  check.shapes = arguments.shapes;
  check.dtype = arguments.dtype;
  if (is_given(arguments, "--steps")) check.steps = arguments.cuda.steps;
  if (is_given(arguments, "--blocks")) check.blocks = arguments.cuda.blocks;
  if (is_given(arguments, "--seconds")) check.seconds = arguments.cuda.seconds;
  check.json = arguments.cuda.json;
  return check_kernel_file(check);
}

int check_layouts(const CheckArguments& arguments, const std::string& path) {
  refuse_given(arguments.of_forms, "kernels", path, "layouts");
  refuse_given(arguments.of_both, "kernels", path, "layouts");
  refuse_given(arguments.of_cuda, "CUDA sources", path, "layouts");
  const CheckFile file = parse_check_file(files::read_text(path, "FILE"), path);
  const lab::CheckReport report =
      lab::check(file.layouts, plan::gpu::device_named(file.gpu, path + ": gpu"));
  io::print("{}", arguments.cuda.json ? report.to_json() + "\n" : report.to_text());
  return report.failed() == 0 ? 0 : exit_failed;
}

int check_files(const CheckArguments& arguments) {
  const std::vector<std::string>& files = arguments.cuda.files;
  const std::size_t cuda = static_cast<std::size_t>(std::count_if(
      files.begin(), files.end(), [](const auto& file) { return is_cuda_file(file); }));
  if (cuda == files.size()) {
    refuse_given(arguments.of_forms, "kernels in the kernel form", files.front(), "CUDA");
    return check_cuda_files(arguments.cuda);
  }
  if (files.size() > 1) {
    throw Error(Status::invalid_argument,
                "FILE: several files at a time are CUDA sources, all of them");
  }
  return is_kernel_file(files.front()) ? check_form(arguments, files.front())
                                       : check_layouts(arguments, files.front());
}

void add_cuda_options(CLI::App& command, CheckArguments& arguments) {
  CudaCheck& cuda = arguments.cuda;
  const auto add = [&](const char* name, auto& value, const char* type, const char* says) {
    CLI::Option* option = command.add_option(name, value, says)->type_name(type);
    if (option->get_items_expected_max() > 1) option->allow_extra_args(false);
    arguments.of_cuda.push_back(option);
  };
  add("--grid", cuda.grid, "X,Y,Z", "Launch the kernel of --kernel with so many blocks");
  add("--block", cuda.block, "X,Y,Z", "... of so many threads");
  add("--shared", cuda.shared, "BYTES", "... and so much dynamic shared memory (default: 0)");
  add("--call", cuda.call, "NAME", "Call this function of the host, which takes tensors");
  add("--arg", cuda.arguments, "ARG",
      "What the kernel or the function takes, in order: in:f32[1024,1024], out:f32[1024], in.npy, "
      "7, f16=0.5; the option may be repeated");
  add("--save", cuda.save, "FOLDER",
      "Write the arrays as they are afterwards to arg0.npy ... in this new folder, and what the "
      "function returns to result.npy");
  add("-I", cuda.folders, "FOLDER", "Look for headers here; the option may be repeated");
  add("-D", cuda.definitions, "NAME[=VALUE]", "Define a macro; the option may be repeated");
  add("--std", cuda.standard, "c++NN", "The language (default: c++17)");
  add("--on", cuda.device, "GPU", "The GPU whose limits hold, by name or file (default: h200)");
  add("--max-wavefronts", cuda.max_wavefronts, "RATIO",
      "Fail where a line takes more wavefronts of shared memory than so many times what it needs");
  add("--max-sectors", cuda.max_sectors, "RATIO",
      "Fail where a line moves more sectors of global memory than so many times what it needs");
  add("--sarif", cuda.sarif, "FILE.sarif", "Write the findings for code hosts");
}

}  // namespace

void add_check_command(CLI::App& app, const std::vector<std::string>& program_arguments) {
  auto arguments = std::make_shared<CheckArguments>();
  CLI::App& command = *app.add_subcommand(
      "check",
      "Runs CUDA sources, or a kernel in the kernel form, without a GPU and says what is wrong "
      "with them; or fails when accesses to layouts take more wavefronts than a file allows");
  CudaCheck& cuda = arguments->cuda;
  cuda.program_arguments = program_arguments;
  command
      .add_option(
          "FILE", cuda.files,
          "CUDA sources (what follows -- is passed to their programs); or a C++ header with a "
          "kernel in the kernel form; or a TOML file of [[layout]] with name, layout and dtype, "
          "and "
          "of [[layout.access]] with access and wavefronts")
      ->required();
  arguments->of_both = {
      command
          .add_option("--kernel", cuda.kernel,
                      "Launch this kernel, as in 'transpose<float,32>'; or take this struct of the "
                      "kernel form, where the file has several with a function `run`")
          ->type_name("NAME"),
      command
          .add_option("--steps", cuda.steps,
                      "Stop a thread that makes more accesses and waits (default: 10000000; in the "
                      "kernel form 100000)")
          ->type_name("N"),
      command
          .add_option("--blocks", cuda.blocks,
                      "Count the accesses of so many blocks of a launch (default: of all); in the "
                      "kernel form: refuse a launch of more blocks (default: 1048576)")
          ->type_name("N"),
      command
          .add_option("--seconds", cuda.seconds,
                      "Stop the program after so much processor time, or five times as long where "
                      "it waits (default: 60; in the kernel form 20)")
          ->type_name("N")};
  add_cuda_options(command, *arguments);
  arguments->of_forms = {
      command
          .add_option("--shape", arguments->shapes,
                      "Run the kernel on a row-major matrix of this shape; the option may be "
                      "repeated (default: 64,64 and 33,31 and 100,36 and 256,256)")
          ->type_name("M,N")
          ->allow_extra_args(false),
      command
          .add_option("--dtype", arguments->dtype,
                      "Give it elements of this type, of 1, 2, 4 or 8 bytes (default: f32)")
          ->type_name("TYPE")};
  command.add_flag("--json", cuda.json, "Write the report as JSON");
  command.callback([arguments] {
    if (const int code = check_files(*arguments); code != 0) throw CLI::RuntimeError(code);
  });
}

}  // namespace cornerturn::cli
