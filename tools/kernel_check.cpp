#include "kernel_check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <regex>
#include <sstream>

#include "arguments.hpp"
#include "child_process.hpp"
#include "commands.hpp"
#include "compiler.hpp"
#include "cornerturn/error.hpp"
#include "files/file.hpp"
#include "io/print.hpp"
#include "matrix_arguments.hpp"
#include "plan/gpu/device_files.hpp"
#include "temporary_folder.hpp"
#include "workshop/ladder/report.hpp"

namespace cornerturn::cli {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void refuse_kernel(const std::string& message) {
  throw Error(Status::invalid_argument, message);
}

// Comments and texts become blanks, so that lines keep their numbers.
std::string code_alone(const std::string& text) {
  std::string out = text;
  const auto blank = [&](std::size_t from, std::size_t to) {
    for (std::size_t i = from; i < std::min(to, out.size()); ++i) {
      if (out[i] != '\n') out[i] = ' ';
    }
    return to;
  };
  for (std::size_t i = 0; i < text.size();) {
    if (text.compare(i, 2, "//") == 0) {
      i = blank(i, std::min(text.find('\n', i), text.size()));
    } else if (text.compare(i, 2, "/*") == 0) {
      const std::size_t end = text.find("*/", i + 2);
      i = blank(i, end == std::string::npos ? text.size() : end + 2);
    } else if (text[i] == '"') {
      std::size_t end = i + 1;
      while (end < text.size() && text[end] != '"' && text[end] != '\n') {
        end += text[end] == '\\' ? 2 : 1;
      }
      i = blank(i, end + 1);
    } else {
      ++i;
    }
  }
  return out;
}

std::ptrdiff_t line_of(const std::string& text, std::size_t at) {
  return 1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n');
}

// What the emulator has no words for is refused by name, with what to write instead.
void refuse_foreign_words(const std::string& file, const std::string& code) {
  static const std::pair<const char*, const char*> foreign[] = {
      {R"(\b(atomic[A-Z]\w*|atomic_(ref|add|fetch\w*))\b|\bcuda::atomic\w*)",
       "the kernel form has no atomics: the emulator could not say in which order they run"},
      {R"(\b(__threadfence\w*|this_grid|grid_group|cooperative_groups)\b)",
       "nothing orders the blocks of a launch here: divide the kernel into two launches"},
      {R"(\b(threadIdx|blockIdx|blockDim|gridDim)\b)",
       "in the kernel form it is ctx.thread_id(), ctx.block_id(), ctx.block_dim(), ctx.grid_dim()"},
      {R"(\b(__syncthreads|__syncwarp|__shfl\w*)\b)",
       "in the kernel form it is ctx.barrier(), ctx.warp_barrier(), ctx.shuffle()"},
      {R"(\b(__global__|__shared__)\b)",
       "in the kernel form a kernel is a function over a context, with ctx.shared<T, count>()"},
  };
  for (const auto& [words, instead] : foreign) {
    std::smatch found;
    if (std::regex_search(code, found, std::regex(words))) {
      refuse_kernel(fmt::format("{}:{}: '{}' is not known here: {}", file,
                                line_of(code, static_cast<std::size_t>(found.position())),
                                found.str(), instead));
    }
  }
}

// The structs that have a function `run`.
std::vector<std::string> kernels_in(const std::string& code) {
  static const std::regex head(R"(\b(?:struct|class)\s+(\w+)[^;{()]*\{)");
  static const std::regex run(R"(\bvoid\s+run\s*\()");
  std::vector<std::pair<std::string, std::size_t>> heads;
  for (std::sregex_iterator it(code.begin(), code.end(), head), end; it != end; ++it) {
    heads.emplace_back((*it)[1].str(), static_cast<std::size_t>(it->position()));
  }
  std::vector<std::string> names;
  for (std::size_t i = 0; i < heads.size(); ++i) {
    const std::size_t to = i + 1 < heads.size() ? heads[i + 1].second : code.size();
    const std::string body = code.substr(heads[i].second, to - heads[i].second);
    if (std::regex_search(body, run)) names.push_back(heads[i].first);
  }
  return names;
}

std::string chosen_kernel(const KernelCheck& check, const std::string& code) {
  if (!check.kernel.empty()) {
    if (!std::regex_match(check.kernel, std::regex(R"([A-Za-z_][\w:<>, ]*)"))) {
      refuse_kernel(fmt::format("--kernel = '{}' is no name of a type", check.kernel));
    }
    return check.kernel;
  }
  const std::vector<std::string> names = kernels_in(code);
  if (names.size() == 1) return names[0];
  if (names.empty()) {
    refuse_kernel(
        fmt::format("{}: there is no struct with a function `run`, which is what a kernel "
                    "is here (--kernel names one)",
                    check.file));
  }
  refuse_kernel(fmt::format("{} has the kernels {}: --kernel says which", check.file,
                            fmt::join(names, ", ")));
}

// The emulator's headers and its library: beside this program when it is installed, else in the
// tree that it was built from.
struct Emulator {
  std::vector<std::string> include;
  std::string library;
};

Emulator emulator_here() {
  Emulator here;
  here.library = static_library("libcornerturn_emulator");
  const fs::path tree = CORNERTURN_SOURCE_DIR;
  if (const fs::path headers = installed_headers("emulator"); !headers.empty()) {
    here.include = {headers.parent_path().parent_path().string(), headers.string()};
  } else if (fs::exists(tree / "src" / "workshop" / "ladder")) {
    here.include = {(tree / "include").string(), (tree / "src").string(),
                    (tree / "src" / "workshop" / "ladder").string()};
  }
  if (here.library.empty() || here.include.empty()) {
    throw Error(Status::unsupported,
                fmt::format("the emulator's library is neither in {} nor in a build folder: "
                            "`cmake --install` puts it there",
                            prefix_here()));
  }
  return here;
}

// What an #include can name: the file itself, or a link to it where its name cannot be written.
std::string included(const KernelCheck& check, const TemporaryFolder& folder) {
  const fs::path path = fs::absolute(check.file);
  const auto has_no_place = [](char c) { return c == '"' || static_cast<unsigned char>(c) < ' '; };
  std::string text = path.string();
  if (std::none_of(text.begin(), text.end(), has_no_place)) return text;
  std::string name = path.filename().string();
  std::replace_if(name.begin(), name.end(), has_no_place, '_');
  std::string link = folder.file("linked-" + name);
  fs::create_symlink(path, link);
  return link;
}

// The compiler's first error, with the kernel's line that led to it where it stands elsewhere.
[[noreturn]] void refuse_uncompiled(const KernelCheck& check, const std::string& path,
                                    const std::string& said) {
  static const std::regex error(R"(^(.*?):(\d+):(?:\d+:)? (?:fatal )?error: (.*)$)");
  std::istringstream lines(said);
  std::string from;
  for (std::string line; std::getline(lines, line);) {
    std::smatch found;
    const std::size_t at = line.find(path + ":");
    if (!std::regex_match(line, found, error)) {
      if (at != std::string::npos) from = std::to_string(std::atoi(&line[at + path.size() + 1]));
      continue;
    }
    if (found[1] == path) {
      refuse_kernel(fmt::format("{}:{}: {}", check.file, found[2].str(), found[3].str()));
    }
    refuse_kernel(fmt::format("{}{}: {} (at {}:{})", check.file, from.empty() ? "" : ":" + from,
                              found[3].str(), fs::path(found[1].str()).filename().string(),
                              found[2].str()));
  }
  refuse_kernel(
      fmt::format("{} cannot be compiled: {}", check.file, said.substr(0, said.find('\n'))));
}

const char* unsigned_of(int bytes) {
  return bytes == 1   ? "std::uint8_t"
         : bytes == 2 ? "std::uint16_t"
         : bytes == 4 ? "std::uint32_t"
                      : "std::uint64_t";
}

void compile(const KernelCheck& check, const std::string& kernel, int bytes,
             const TemporaryFolder& folder, const std::string& program, const HeldSignals& held) {
  const Emulator emulator = emulator_here();
  const std::string path = included(check, folder);
  const std::string source = folder.file("check.cpp");
  std::ofstream(source) << fmt::format(
      "#include <cornerturn_emulator.hpp>\n#include \"{0}\"\n"
      "int main(int argc, char** argv) {{\n"
      "  return cornerturn::ladder::check_main(\n"
      "      cornerturn::ladder::kernel_of<{1}, {2}>(\"{1}\"), {3}, argc, argv);\n}}\n",
      path, kernel, unsigned_of(bytes), bytes);
  std::vector<std::string> words = {"-std=c++20", "-O1", "-fdiagnostics-color=never"};
  for (const std::string& folder_name : emulator.include) words.push_back("-I" + folder_name);
  words.insert(words.end(), {"-iquote", fs::absolute(check.file).parent_path().string()});
  words.insert(words.end(), {source, "-o", program, emulator.library});
  for (const std::string& needed : emulator_needs()) words.push_back(needed);
  const Finished done = run_compiler(words, folder.name(), held);
  if (done.exit_code != 0) refuse_uncompiled(check, path, done.errors);
}

std::int64_t number_from_1(const char* option, const std::string& text) {
  const std::vector<std::int64_t> numbers = parse_numbers(option, text);
  if (numbers.size() != 1 || numbers[0] < 1) {
    refuse_kernel(fmt::format("{} = '{}' is no number from 1 on", option, text));
  }
  return numbers[0];
}

std::vector<std::string> run_words(const KernelCheck& check, const std::string& program,
                                   const std::string& report, int& bytes) {
  std::vector<std::string> shapes = check.shapes;
  if (shapes.empty()) shapes = {"64,64", "33,31", "100,36", "256,256"};
  std::vector<std::string> words = {program, report,
                                    std::to_string(number_from_1("--steps", check.steps)),
                                    std::to_string(number_from_1("--blocks", check.blocks))};
  for (const std::string& shape : shapes) {
    const ladder::Matrix matrix = parse_matrix(shape, check.dtype);
    require_emulation(matrix);
    bytes = matrix.bytes;
    words.push_back(std::to_string(matrix.rows));
    words.push_back(std::to_string(matrix.cols));
  }
  return words;
}

// What a signal that ended the kernel's program says of the kernel.
std::string reason_of(const Finished& done) {
  switch (done.signal) {
    case SIGFPE:
      return "it divides an integer by zero";
    case SIGABRT:
      return "it calls abort(), or an assertion fails: " +
             done.errors.substr(0, done.errors.find('\n'));
    case SIGSEGV:
    case SIGBUS:
      return "it touches memory without the context";
    default:
      return "nothing in the kernel form raises it";
  }
}

nlohmann::ordered_json run_check(const KernelCheck& check, const std::vector<std::string>& words,
                                 const TemporaryFolder& folder, unsigned seconds,
                                 const HeldSignals& held) {
  const Finished done = run_program(words, {seconds, folder.name()}, held);
  for (const std::string& said : {done.output, done.errors}) {
    if (!said.empty() && done.signal != SIGABRT) {
      io::print_error(said.ends_with('\n') ? said : said + "\n");
    }
  }
  if (done.late) {
    refuse_kernel(
        fmt::format("{}: stopped after {} seconds: the kernel waits for something "
                    "(--seconds = {} allows five times as many)",
                    check.file, 5 * seconds, seconds));
  }
  if (done.signal == SIGKILL || done.signal == SIGXCPU) {
    refuse_kernel(fmt::format(
        "{}: stopped after {} seconds of processor time, which --seconds allows: a "
        "thread is in an endless loop without an access to memory, or the launch is large",
        check.file, seconds));
  }
  if (done.signal != 0) {
    refuse_kernel(fmt::format("{}: the kernel ended with signal {} ({}): {}", check.file,
                              done.signal, strsignal(done.signal), reason_of(done)));
  }
  std::ifstream file(words[1]);
  auto report = nlohmann::ordered_json::parse(file, nullptr, false);
  if (report.is_discarded()) {
    refuse_kernel(fmt::format("{}: the kernel ends its process with exit code {}: it has to return",
                              check.file, done.exit_code));
  }
  if (report.contains("error")) {
    refuse_kernel(fmt::format("{}: {}", check.file, report["error"].get<std::string>()));
  }
  return report;
}

// The last shape's accesses as the ledger takes them.
ladder::Prediction prediction_of(const nlohmann::ordered_json& report) {
  using simt::Op;
  ladder::Prediction run;
  const auto& shape = report["shapes"].back()["shape"];
  run.matrix = ladder::make_matrix(shape[0], shape[1], report["element_bytes"]);
  const auto dim = [](const auto& of) { return Dim3{of[0], of[1], of[2]}; };
  run.launch = {dim(report["launch"]["grid"]), dim(report["launch"]["block"])};
  run.shared_bytes = report["shared_bytes"];
  for (const auto& row : report["legs"]) {
    Leg leg;
    for (int op = 0; op <= static_cast<int>(Op::stmatrix); ++op) {
      if (row["leg"] == name(static_cast<Op>(op))) leg.op = static_cast<Op>(op);
    }
    leg.width = row["bytes_a_lane"];
    leg.requests = row["requests"];
    if (row.contains("bytes")) {
      const double ideal = row["sectors"]["ideal"];
      leg.sectors = row["bytes"]["moved"].get<std::uint64_t>() / 32;
      leg.sectors_ideal =
          static_cast<std::uint64_t>(std::llround(ideal * static_cast<double>(leg.requests)));
      leg.sectors_again = row["sectors"]["again"];
      leg.bytes_used = row["bytes"]["used"];
    }
    if (row.contains("wavefronts")) {
      leg.wavefronts = row["wavefronts"]["actual"];
      leg.conflicts = row["wavefronts"]["conflicts"];
    }
    if (row.contains("collision")) {
      const auto& met = row["collision"];
      leg.collision = {met["lanes"][0], met["lanes"][1], met["bank"], met["words"][0],
                       met["words"][1]};
    }
    leg.site = {row["place"].get_ref<const std::string&>().c_str(), 0};
    run.report.legs.push_back(leg);
  }
  const std::string& rows = report["tile_rows"].get_ref<const std::string&>();
  run.report.tile = rows == "unknown"              ? TileKind::unknown
                    : rows == "padded or swizzled" ? TileKind::arranged
                                                   : TileKind::plain;
  return run;
}

// What limits the kernel and how fast it should be, and why nothing is said of that, if so. It adds
// them to the report. The matrix is a large one, unless somebody asks about another one.
std::string predicted(const KernelCheck& check, nlohmann::ordered_json& report) {
  const auto none = [&](const std::string& why) {
    report["why_no_speed"] = why;
    return fmt::format("\nNo speed is predicted: {}.\n", why);
  };
  if (!report["verified"]) return none("the kernel is wrong");
  const ladder::Prediction run = prediction_of(report);
  const ladder::Matrix asked =
      check.shapes.empty() ? ladder::predicted_matrix(run.matrix.bytes) : run.matrix;
  const auto outlook = ladder::outlook_of(run, asked, plan::gpu::device_named("h200"));
  if (!outlook) return none("the kernel moves nothing");
  report.update(nlohmann::ordered_json::parse(ladder::to_json(*outlook)));
  std::string text = fmt::format("\nLimit: {}\n\nPredicted: {}.\n", outlook->diagnosis.sentence(),
                                 outlook->ledger.text());
  if (!outlook->what_ifs.empty()) text += fmt::format("What if: {}.\n", to_text(outlook->what_ifs));
  return text;
}

// A finding without what differs from shape to shape: what it is, and where in the source,
// whichever of two threads came first.
std::string kind_of(const std::string& finding) {
  static const std::regex blocks(R"( of block \([\d,]*\))");
  static const std::regex numbers(R"((^|[^:\d])\d+)");
  static const std::regex between(R"(; |: (?=thread ))");
  const std::string text =
      std::regex_replace(std::regex_replace(finding, blocks, ""), numbers, "$1#");
  std::vector<std::string> clauses(
      std::sregex_token_iterator(text.begin(), text.end(), between, -1), {});
  std::sort(clauses.begin(), clauses.end());
  return fmt::format("{}", fmt::join(clauses, "; "));
}

// Each finding once, with the shapes at which it is found.
void complain_of(const nlohmann::ordered_json& report) {
  struct Complaint {
    std::string kind;
    std::string shapes;
    std::string text;
  };
  std::vector<Complaint> complaints;
  for (const auto& shape : report["shapes"]) {
    const std::string where = fmt::format("{} x {}", shape["shape"][0].get<std::int64_t>(),
                                          shape["shape"][1].get<std::int64_t>());
    std::vector<std::string> found = shape["findings"];
    const std::string wrong = shape["mismatch"];
    if (found.empty() && !wrong.empty()) found.push_back(wrong);
    for (const std::string& text : found) {
      const std::string kind = kind_of(text);
      const auto known = std::find_if(complaints.begin(), complaints.end(),
                                      [&](const Complaint& c) { return c.kind == kind; });
      if (known == complaints.end()) {
        complaints.push_back({kind, where, text});
      } else if (!(", " + known->shapes).ends_with(", " + where)) {
        known->shapes += ", " + where;
      }
    }
  }
  for (const Complaint& complaint : complaints) {
    io::complain(fmt::format("{}: {}", complaint.shapes, complaint.text));
  }
}

}  // namespace

bool is_kernel_file(const std::string& path) {
  const std::string ending = fs::path(path).extension().string();
  if (ending == ".toml") return false;
  for (const char* of_code : {".hpp", ".h", ".hh", ".cuh", ".cu", ".cpp", ".cc"}) {
    if (ending == of_code) return true;
  }
  const std::string text = files::read_text(path, "FILE");
  return text.find("[[layout]]") == std::string::npos && !kernels_in(code_alone(text)).empty();
}

int check_kernel_file(const KernelCheck& check) {
  const std::string code = code_alone(files::read_text(check.file, "FILE"));
  refuse_foreign_words(check.file, code);
  const std::string kernel = chosen_kernel(check, code);
  const std::int64_t seconds = number_from_1("--seconds", check.seconds);
  if (seconds > most_seconds) {
    refuse_kernel(fmt::format("--seconds = {} is more than {}", seconds, most_seconds));
  }
  const HeldSignals held;  // outlives the folder
  const TemporaryFolder folder;
  const std::string program = folder.file("check");
  int bytes = 4;
  const std::vector<std::string> words =
      run_words(check, program, folder.file("report.json"), bytes);
  compile(check, kernel, bytes, folder, program, held);
  nlohmann::ordered_json report =
      run_check(check, words, folder, static_cast<unsigned>(seconds), held);
  const std::string text = report["text"];
  report.erase("text");
  const std::string outlook = predicted(check, report);
  io::print("{}", check.json ? report.dump(2) + "\n" : text + outlook);
  complain_of(report);
  return report["verified"] ? 0 : exit_failed;
}

}  // namespace cornerturn::cli
