// cornerturn check: a linter for other people's layouts and kernels, for CI.
#include <fmt/format.h>

#include <memory>
#include <string>
#include <vector>

#include "check_file.hpp"
#include "commands.hpp"
#include "cornerturn/error.hpp"
#include "files/file.hpp"
#include "io/print.hpp"
#include "kernel_check.hpp"
#include "plan/gpu/device_files.hpp"
#include "workshop/lab/check.hpp"

namespace cornerturn::cli {
namespace {

struct CheckArguments {
  KernelCheck kernel;  // its file and json are those of layouts, too
  std::vector<CLI::Option*> of_kernels;
};

int check_file(const CheckArguments& arguments) {
  const std::string& path = arguments.kernel.file;
  if (is_kernel_file(path)) return check_kernel_file(arguments.kernel);
  for (const CLI::Option* option : arguments.of_kernels) {
    if (option->count() > 0) {
      throw Error(Status::invalid_argument,
                  fmt::format("{} is for kernels, and {} holds layouts", option->get_name(), path));
    }
  }
  const CheckFile file = parse_check_file(files::read_text(path, "FILE"), path);
  const lab::CheckReport report =
      lab::check(file.layouts, plan::gpu::device_named(file.gpu, path + ": gpu"));
  io::print("{}", arguments.kernel.json ? report.to_json() + "\n" : report.to_text());
  return report.failed() == 0 ? 0 : exit_failed;
}

}  // namespace

void add_check_command(CLI::App& app) {
  auto arguments = std::make_shared<CheckArguments>();
  CLI::App& command = *app.add_subcommand(
      "check",
      "Runs a kernel of your own in the emulator and says what is wrong with it; or fails when "
      "accesses to layouts take more wavefronts than a file allows");
  KernelCheck& kernel = arguments->kernel;
  command
      .add_option(
          "FILE", kernel.file,
          "A C++ header with a kernel in the kernel form; or a TOML file of [[layout]] with "
          "name, layout and dtype, and of [[layout.access]] with access and wavefronts")
      ->required();
  arguments->of_kernels = {
      command
          .add_option("--shape", kernel.shapes,
                      "Run the kernel on a row-major matrix of this shape; the option may be "
                      "repeated (default: 64,64 and 33,31 and 100,36 and 256,256)")
          ->type_name("M,N")
          ->allow_extra_args(false),
      command
          .add_option("--dtype", kernel.dtype,
                      "Give it elements of this type, of 1, 2, 4 or 8 bytes (default: f32)")
          ->type_name("TYPE"),
      command
          .add_option("--kernel", kernel.kernel,
                      "Take this struct, where the file has several with a function `run`")
          ->type_name("NAME"),
      command
          .add_option("--steps", kernel.steps,
                      "Stop a thread that makes more accesses and waits (default: 100000)")
          ->type_name("N"),
      command
          .add_option("--blocks", kernel.blocks,
                      "Refuse a launch of more blocks (default: 1048576)")
          ->type_name("N"),
      command
          .add_option(
              "--seconds", kernel.seconds,
              "Stop the kernel after so much processor time, or five times as long where it "
              "waits (default: 20)")
          ->type_name("N")};
  command.add_flag("--json", kernel.json, "Write the report as JSON");
  command.callback([arguments] {
    if (const int code = check_file(*arguments); code != 0) throw CLI::RuntimeError(code);
  });
}

}  // namespace cornerturn::cli
