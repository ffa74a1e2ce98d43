#include "cuda_check.hpp"

#include <fmt/format.h>

#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <regex>
#include <sstream>
#include <utility>

#include "arguments.hpp"
#include "child_process.hpp"
#include "commands.hpp"
#include "compiler.hpp"
#include "cornerturn/error.hpp"
#include "cuda_arrays.hpp"
#include "cuda_report.hpp"
#include "cuda_sarif.hpp"
#include "files/file.hpp"
#include "io/print.hpp"
#include "plan/gpu/device_files.hpp"
#include "temporary_folder.hpp"
#include "workshop/cuda_source/front/compiler.hpp"
#include "workshop/cuda_source/front/program.hpp"

namespace cornerturn::cli {
namespace {

namespace fs = std::filesystem;
namespace front = cornerturn::cuda_source;
using Json = nlohmann::ordered_json;

constexpr std::int64_t most_memory = std::int64_t{16} << 30;

[[noreturn]] void refuse_check(const std::string& message) {
  throw Error(Status::invalid_argument, message);
}

// The headers that stand for CUDA's and the libraries: beside this program when it is installed,
// else in the tree that it was built from.
struct Runtime {
  std::string folder;
  std::vector<std::string> libraries;
};

Runtime runtime_here() {
  const std::string installed = installed_headers("cuda_source");
  const fs::path tree =
      fs::path(CORNERTURN_SOURCE_DIR) / "src" / "workshop" / "cuda_source" / "guest";
  Runtime here;
  here.libraries = {static_library("libcornerturn_cuda_source"),
                    static_library("libcornerturn_emulator")};
  here.folder = !installed.empty() ? installed : fs::exists(tree) ? tree.string() : "";
  if (here.libraries[0].empty() || here.libraries[1].empty() || here.folder.empty()) {
    throw Error(Status::unsupported,
                fmt::format("the library that CUDA sources are run with is neither in {} nor in a "
                            "build folder: `cmake --install` puts it there",
                            prefix_here()));
  }
  return here;
}

std::int64_t number_at_least(std::int64_t least, const char* option, const std::string& text) {
  const std::vector<std::int64_t> numbers = parse_numbers(option, text);
  if (numbers.size() != 1 || numbers[0] < least) {
    refuse_check(fmt::format("{} = '{}' is no number from {} on", option, text, least));
  }
  return numbers[0];
}

// One file's way from its text to its report.
class FileCheck {
 public:
  FileCheck(const CudaCheck& check, front::Request request, const Json& device,
            const std::string& file, const HeldSignals& held)
      : check_(check), request_(std::move(request)), device_(device), file_(file), held_(held) {}

  CudaRun result() {
    find_array_files(request_, folder_);
    if (!check_.save.empty()) request_.results = folder_.file("results");
    if (!check_.save.empty()) fs::create_directory(request_.results);
    compile();
    return run();
  }

 private:
  Finished compiled(const std::vector<std::string>& options) const {
    return run_compiler(options, folder_.name(), held_);
  }

  void compile() {
    const Runtime runtime = runtime_here();
    const front::Compiler compiler = front::compiler_by_version(compiled({"--version"}).output);
    front::CompileOptions options;
    options.standard = check_.standard;
    options.folders = check_.folders;
    options.definitions = check_.definitions;
    options.guest = {runtime.folder};
    program_ = front::read_program(file_, request_, check_.folders);
    const std::string object = folder_.file("program.o");
    const std::string beside = fs::path(program_.sources().files[0].path).parent_path().string();
    while (true) {
      const std::string source = program_.write(folder_.name());
      const Finished done =
          compiled(front::compile_words(compiler, options, source, object, beside));
      if (done.exit_code == 0) break;
      if (!program_.leave_out(done.errors)) {
        refuse_check(front::first_error(done.errors, program_.sources()));
      }
    }
    std::vector<std::string> words = {object};
    words.insert(words.end(), runtime.libraries.begin(), runtime.libraries.end());
    words.insert(words.end(), {"-o", folder_.file("program"), "-lpthread"});
    for (const std::string& needed : emulator_needs()) words.push_back(needed);
    const Finished done = compiled(words);
    if (done.exit_code != 0) refuse_check(front::link_error(done.errors, program_.sources()));
  }

  CudaRun run() {
    const std::string report_path = folder_.file("report.json");
    const Json config = {{"report", report_path},
                         {"steps", number_at_least(1, "--steps", check_.steps)},
                         {"blocks", number_at_least(0, "--blocks", check_.blocks)},
                         {"device", device_}};
    const std::string config_path = folder_.file("config.json");
    std::ofstream(config_path) << config.dump();
    Allowed allowed;
    allowed.cpu_seconds = static_cast<unsigned>(number_at_least(1, "--seconds", check_.seconds));
    allowed.temporary = folder_.name();
    allowed.grace_seconds = 5;
    allowed.memory = most_memory;
    allowed.environment = {{"CORNERTURN_CHECK_CONFIG", config_path}};
    std::vector<std::string> words = {folder_.file("program")};
    words.insert(words.end(), check_.program_arguments.begin(), check_.program_arguments.end());
    Finished done = run_program(words, allowed, held_);
    std::ifstream file(report_path);
    Json report = Json::parse(file, nullptr, false);
    if (report.is_discarded()) report = without_report(done);
    report["exit_code"] = done.exit_code;
    report = named(report);
    report["file"] = file_;
    report["output"] = done.output;
    report["errors"] = done.errors;
    if (!check_.save.empty()) report["saved"] = save_arrays(request_, check_.save);
    return {std::move(report), std::move(done.output), std::move(done.errors)};
  }

  // The program's end left no report: that is a finding, too.
  Json without_report(const Finished& done) const {
    std::string message;
    if (done.late) {
      message = fmt::format("it waits: stopped after {} seconds", 5 * std::stoll(check_.seconds));
    } else if (done.signal == SIGKILL || done.signal == SIGXCPU) {
      message =
          fmt::format("stopped after {} seconds of processor time (--seconds)", check_.seconds);
    } else if (done.signal != 0) {
      message = fmt::format("it ended with signal {} ({})", done.signal, strsignal(done.signal));
    } else {
      message = fmt::format("it ended with exit code {} and without a report", done.exit_code);
    }
    return {{"kernels", Json::array()},
            {"findings", Json::array()},
            {"host", Json::array({{{"kind", "ended"},
                                   {"severity", "error"},
                                   {"message", message},
                                   {"count", 1},
                                   {"places", Json::array()}}})}};
  }

  // Files have the names that people know.
  Json named(Json report) const {
    if (report.is_object()) {
      for (auto& [key, value] : report.items()) {
        if (key == "file" && value.is_string()) {
          value = program_.sources().shown(value.get<std::string>());
        } else {
          value = named(value);
        }
      }
    } else if (report.is_array()) {
      for (auto& value : report) value = named(value);
    }
    return report;
  }

  const CudaCheck& check_;
  front::Request request_;
  const Json& device_;
  const std::string& file_;
  const HeldSignals& held_;
  const TemporaryFolder folder_;
  front::Program program_;
};

// Something was reached that cannot be run here.
void refuse_if_refused(const Json& report) {
  for (const char* list : {"findings", "host"}) {
    for (const Json& finding : report[list]) {
      if (finding["kind"] != "refused") continue;
      std::string place = report["file"];
      if (!finding["places"].empty() && finding["places"][0].contains("file")) {
        place = fmt::format("{}:{}", finding["places"][0]["file"].get<std::string>(),
                            finding["places"][0]["line"].get<std::int64_t>());
      }
      refuse_check(fmt::format("{}: {}", place, finding["message"].get<std::string>()));
    }
  }
}

// What the program says itself comes before the report.
void show_said(const CudaRun& run, bool json) {
  const auto lines = [](const std::string& text) {
    return text.empty() || text.ends_with('\n') ? text : text + "\n";
  };
  if (!run.output.empty() && json) {
    io::print_error(lines(run.output));
  } else if (!run.output.empty()) {
    io::print("{}", lines(run.output));
  }
  if (!run.errors.empty()) io::print_error(lines(run.errors));
}

front::Request request_of(const CudaCheck& check) {
  front::Request request;
  request.kernel = check.kernel;
  request.function = check.call;
  if (!check.kernel.empty() && !check.call.empty()) {
    refuse_check("--kernel launches a kernel, and --call calls a function: one of them");
  }
  if (check.kernel.empty() &&
      (!check.grid.empty() || !check.block.empty() || !check.shared.empty())) {
    refuse_check("--grid, --block and --shared are for --kernel");
  }
  if (check.kernel.empty() && check.call.empty() && !check.arguments.empty()) {
    refuse_check("--arg is for --kernel and --call");
  }
  if (!check.kernel.empty()) {
    if (check.grid.empty() || check.block.empty()) {
      refuse_check(fmt::format("--kernel = '{}' needs --grid and --block", check.kernel));
    }
    request.grid = front::parse_dimensions("--grid", check.grid);
    request.block = front::parse_dimensions("--block", check.block);
    request.shared = check.shared.empty() ? 0 : number_at_least(0, "--shared", check.shared);
  }
  if (!check.save.empty()) {
    if (check.kernel.empty() && check.call.empty())
      refuse_check("--save is for --kernel and --call");
    if (check.files.size() > 1) refuse_check("--save is for one FILE");
    require_empty(check.save);
  }
  for (const std::string& text : check.arguments) {
    request.arguments.push_back(front::parse_argument(text));
  }
  return request;
}

Json device_json(const CudaCheck& check) {
  const plan::gpu::DeviceInfo device = plan::gpu::device_named(check.device, "--on");
  return {{"name", device.name},
          {"arch", device.arch},
          {"warp", 32},
          {"threads_block", 1024},
          {"sms", device.sm_count},
          {"clock_hz", device.clock_hz},
          {"shared_block", 48 << 10},
          {"shared_block_optin", device.shared_per_block},
          {"shared_sm", device.shared_per_sm},
          {"threads_sm", device.threads_per_sm},
          {"blocks_sm", device.blocks_per_sm},
          {"registers_sm", device.registers_per_sm},
          {"l2_bytes", device.l2_bytes}};
}

double ratio_of(const char* option, const std::string& text) {
  char* end = nullptr;
  const double ratio = std::strtod(text.c_str(), &end);
  if (text.empty() || *end != '\0' || !(ratio >= 1.0)) {
    refuse_check(fmt::format("{} = '{}' is no ratio from 1 on", option, text));
  }
  return ratio;
}

}  // namespace

bool is_cuda_file(const std::string& path) {
  const std::string ending = fs::path(path).extension().string();
  if (ending == ".toml") return false;
  const std::string text = files::read_text(path, "FILE");
  for (const front::Token& token : front::tokens_of(text)) {
    if (token.is("__global__") || token.is("<<<")) return true;
    if (token.kind == front::TokenKind::directive &&
        token.text.find("cornerturn_emulator.hpp") != std::string_view::npos) {
      return false;
    }
  }
  return ending == ".cu";
}

CudaRun run_cuda_file(const CudaCheck& check, const std::string& file, const HeldSignals& held) {
  const front::Request request = request_of(check);
  const Json device = device_json(check);
  CudaRun run = FileCheck(check, request, device, file, held).result();
  refuse_if_refused(run.report);
  return run;
}

int check_cuda_files(const CudaCheck& check) {
  const front::Request request = request_of(check);
  const Json device = device_json(check);
  if (number_at_least(1, "--seconds", check.seconds) > most_seconds) {
    refuse_check(fmt::format("--seconds = {} is more than {}", check.seconds, most_seconds));
  }
  ReportLimits limits;
  if (!check.max_wavefronts.empty()) {
    limits.wavefronts = ratio_of("--max-wavefronts", check.max_wavefronts);
  }
  if (!check.max_sectors.empty()) limits.sectors = ratio_of("--max-sectors", check.max_sectors);
  const HeldSignals held;  // outlives the folders
  Json all = {{"files", Json::array()}, {"refused", Json::array()}};
  bool failed = false;
  std::string refusal;
  for (const std::string& file : check.files) {
    Json report;
    try {
      CudaRun run = FileCheck(check, request, device, file, held).result();
      show_said(run, check.json);
      refuse_if_refused(run.report);
      report = std::move(run.report);
    } catch (const Error& error) {
      if (error.status() == Status::io_error || (check.files.size() == 1 && !check.json)) throw;
      // The other files are still checked.
      io::complain(error.what());
      refusal = error.what();
      all["refused"].push_back({{"file", file},
                                {"message", refusal},
                                {"unsupported", error.status() == Status::unsupported}});
      continue;
    }
    judge(report, limits);
    failed = failed || report["failed"];
    report["text"] = report_text(report);
    if (!check.json) io::print("{}", report["text"].get<std::string>());
    all["files"].push_back(std::move(report));
  }
  if (check.json) io::print_json(all);
  if (!check.sarif.empty()) write_sarif(check.sarif, all);
  return !refusal.empty() ? exit_bad_input : failed ? exit_failed : 0;
}

}  // namespace cornerturn::cli
