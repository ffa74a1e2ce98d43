// cornerturn check: a linter for other people's layouts and kernels, for CI.
#include <fmt/format.h>

#include <toml++/toml.h>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "arguments.hpp"
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

// Reads the file's tables; what is wrong is refused with the file and the line.
class CheckFile {
 public:
  explicit CheckFile(const std::string& path) : path_(path) {
    try {
      root_ = toml::parse(files::read_text(path, "FILE"), path);
    } catch (const toml::parse_error& error) {
      const auto& at = error.source().begin;
      if (at.line == 0) refuse(0, std::string(error.description()));
      refuse(at.line, fmt::format("column {}: {}", at.column, error.description()));
    }
    allow(root_, {"gpu", "layout"});
  }

  std::string gpu() { return text(root_, "gpu", "h200"); }

  std::vector<lab::CheckedLayout> layouts() {
    std::vector<lab::CheckedLayout> out;
    for (const toml::table* one : tables(root_, "layout")) {
      allow(*one, {"name", "layout", "dtype", "injective", "access"});
      lab::CheckedLayout layout;
      layout.layout = text(*one, "layout", std::nullopt);
      layout.name = text(*one, "name", layout.layout);
      layout.bytes = static_cast<int>(
          parse_dtype(fmt::format("{}:{}: dtype", path_, line_of(*one)), text(*one, "dtype", "f32"))
              .size);
      layout.injective = flag(*one, "injective", true);
      for (const toml::table* access : tables(*one, "access")) {
        allow(*access, {"access", "wavefronts"});
        layout.accesses.push_back({text(*access, "access", std::nullopt), wavefronts(*access)});
      }
      out.push_back(std::move(layout));
    }
    return out;
  }

 private:
  [[noreturn]] void refuse(std::size_t line, const std::string& problem) const {
    throw Error(Status::invalid_argument, line == 0
                                              ? fmt::format("{}: {}", path_, problem)
                                              : fmt::format("{}:{}: {}", path_, line, problem));
  }
  static std::size_t line_of(const toml::node& node) { return node.source().begin.line; }

  void allow(const toml::table& table, const std::vector<std::string_view>& keys) const {
    for (const auto& [key, value] : table) {
      bool known = false;
      for (const std::string_view allowed : keys) known = known || key == allowed;
      if (!known) {
        refuse(line_of(value), fmt::format("'{}' is none of {}", key.str(), fmt::join(keys, ", ")));
      }
    }
  }

  std::vector<const toml::table*> tables(const toml::table& parent, std::string_view key) const {
    const toml::node* node = parent.get(key);
    const toml::array* list = node != nullptr ? node->as_array() : nullptr;
    if (list == nullptr || list->empty()) {
      refuse(node != nullptr ? line_of(*node) : line_of(parent),
             fmt::format("no [[{}]], of which there is at least one", key));
    }
    std::vector<const toml::table*> out;
    for (const toml::node& item : *list) {
      if (item.as_table() == nullptr) refuse(line_of(item), fmt::format("'{}' are tables", key));
      out.push_back(item.as_table());
    }
    return out;
  }

  std::string text(const toml::table& table, std::string_view key,
                   const std::optional<std::string>& otherwise) const {
    const toml::node* node = table.get(key);
    if (node == nullptr) {
      if (!otherwise) refuse(line_of(table), fmt::format("'{}' is missing", key));
      return *otherwise;
    }
    if (!node->is_string()) refuse(line_of(*node), fmt::format("'{}' is no text", key));
    return node->as_string()->get();
  }

  bool flag(const toml::table& table, std::string_view key, bool otherwise) const {
    const toml::node* node = table.get(key);
    if (node == nullptr) return otherwise;
    if (!node->is_boolean()) refuse(line_of(*node), fmt::format("'{}' is true or false", key));
    return node->as_boolean()->get();
  }

  std::optional<int> wavefronts(const toml::table& table) const {
    const toml::node* node = table.get("wavefronts");
    if (node == nullptr) return std::nullopt;
    const std::int64_t value = node->is_integer() ? node->as_integer()->get() : 0;
    if (value < 1 || value > 1024) {
      refuse(line_of(*node), "'wavefronts' is a number from 1 on: those that a request may take");
    }
    return static_cast<int>(value);
  }

  std::string path_;
  toml::table root_;
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
  CheckFile file(path);
  const lab::CheckReport report =
      lab::check(file.layouts(), plan::gpu::device_named(file.gpu(), path + ": gpu"));
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
          ->type_name("N")};
  command.add_flag("--json", kernel.json, "Write the report as JSON");
  command.callback([arguments] {
    if (const int code = check_file(*arguments); code != 0) throw CLI::RuntimeError(code);
  });
}

}  // namespace cornerturn::cli
