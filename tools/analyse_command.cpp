// cornerturn analyse: one rung, or one layout, in depth.
#include <fmt/format.h>

#include <atomic>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "arguments.hpp"
#include "commands.hpp"
#include "cornerturn/error.hpp"
#include "io/print.hpp"
#include "matrix_arguments.hpp"
#include "plan/gpu/device_files.hpp"
#include "progress.hpp"
#include "workshop/analyse/layout_report.hpp"
#include "workshop/analyse/notation.hpp"
#include "workshop/ladder/compiled.hpp"
#include "workshop/ladder/explain.hpp"
#include "workshop/ladder/report.hpp"

namespace cornerturn::cli {
namespace {

struct AnalyseArguments {
  std::string what;
  std::string shape;
  std::string dtype;
  std::string bytes;
  std::string on;
  bool json = false;
};

// Names of rungs have none of these, layouts have one of them.
bool is_layout(const std::string& text) {
  return text.find_first_of("(:<") != std::string::npos ||
         text.find_first_not_of("0123456789") == std::string::npos;
}

std::string dim(const Dim3& d) {
  std::string text = fmt::format("{}", d.x);
  if (d.y > 1 || d.z > 1) text += fmt::format(" x {}", d.y);
  if (d.z > 1) text += fmt::format(" x {}", d.z);
  return text;
}

// What the emulator alone knows.
struct Ran {
  std::vector<std::string> wrong;
  std::string path;
};

struct RungAnalysis {
  const ladder::Rung* rung;
  std::string dtype;
  ladder::Prediction predicted;
  std::optional<Ran> ran;
  std::string than_after;  ///< what differs from the rung before it
  std::optional<ladder::Outlook> outlook;
  std::string why_no_speed;  ///< where there is no outlook
  bool fitted = true;        ///< the prediction is for the GPU that its numbers were fitted to

  bool failed() const { return ran && !ran->wrong.empty(); }
};

void print_outlook(const RungAnalysis& analysis) {
  if (!analysis.outlook) {
    io::print("\nNo speed is predicted: {}.\n", analysis.why_no_speed);
    return;
  }
  const ladder::Outlook& outlook = *analysis.outlook;
  io::print("\nLimit: {}\n\nPredicted: {}.\n", outlook.diagnosis.sentence(), outlook.ledger.text());
  if (!outlook.what_ifs.empty()) io::print("What if: {}.\n", to_text(outlook.what_ifs));
  if (!analysis.fitted) {
    const int blocks = outlook.ledger.resident;
    io::print(
        "An SM of that GPU holds {} block{} at a time. Nothing of this was measured there: memory, "
        "SMs and clock are that GPU's, all other costs those of an H200.\n",
        blocks, blocks == 1 ? "" : "s");
  }
}

void print_text(const RungAnalysis& analysis) {
  const ladder::Rung& rung = *analysis.rung;
  const ladder::Prediction& run = analysis.predicted;
  const std::optional<Ran>& ran = analysis.ran;
  io::print("{}: {}\n", rung.name, rung.shows);
  io::print("matrix    {} x {} of {}\n", run.matrix.rows, run.matrix.cols, analysis.dtype);
  io::print("launch    {} blocks of {} threads, {} B of shared memory a block\n",
            run.launch.grid.count(), dim(run.launch.block), run.shared_bytes);
  const ladder::CompiledRung* compiled = ladder::find_compiled(rung.name, run.matrix.bytes);
  for (std::size_t i = 0; i < ladder::sms.size(); ++i) {
    const ladder::Sm& sm = ladder::sms[i];
    const ladder::Residency resident = ladder::residency(run, sm);
    io::print(
        "resident  {} blocks, {} of {} threads of an SM of compute capability {}; the bound "
        "is its {}{}\n",
        resident.blocks, resident.threads, sm.threads, sm.name, resident.bound,
        compiled == nullptr ? "" : fmt::format(", {} registers a thread", compiled->registers[i]));
  }
  if (compiled != nullptr && compiled->instructions > 0) {
    io::print("code      {} instructions for compute capability 9.0\n", compiled->instructions);
  }
  io::print("verified  {}\n\n{}",
            !ran                ? "no: it runs on a GPU only; the figures follow from its layouts"
            : analysis.failed() ? "NO"
                                : "every element, in the emulator with all detectors on",
            run.report.text());
  print_outlook(analysis);
  if (!analysis.than_after.empty()) {
    io::print("Against {} it {}.\n", rung.after, analysis.than_after);
  }
  if (ran && !run.report.legs.empty()) {
    io::print(
        "\nThe first accesses of the first warp: row,column of the matrices, slots of the tile\n{}",
        ran->path);
  }
  const std::optional<ladder::TileMap> tile = rung.tile(run.matrix.bytes);
  if (!tile) return;
  io::print("\nThe banks in which elements of its {} x {} tile lie\n{}", tile->rows, tile->columns,
            ladder::bank_picture(*tile));
}

nlohmann::ordered_json to_json(const RungAnalysis& analysis) {
  const ladder::Rung& rung = *analysis.rung;
  nlohmann::ordered_json json = {
      {"rung", rung.name}, {"shows", rung.shows}, {"dtype", analysis.dtype}};
  if (analysis.ran) {
    json["verified"] = !analysis.failed();
    json["findings"] = analysis.ran->wrong;
    json["path"] = analysis.ran->path;
  }
  if (!analysis.than_after.empty()) {
    json["after"] = rung.after;
    json["than_after"] = analysis.than_after;
  }
  json.update(nlohmann::ordered_json::parse(ladder::to_json(analysis.predicted, analysis.outlook)));
  if (!analysis.outlook) json["why_no_speed"] = analysis.why_no_speed;
  if (analysis.outlook) json["ledger"]["fitted_to_device"] = analysis.fitted;
  if (const auto tile = rung.tile(analysis.predicted.matrix.bytes)) {
    json["tile"] = {
        {"rows", tile->rows}, {"columns", tile->columns}, {"banks", ladder::bank_picture(*tile)}};
  }
  return json;
}

// Emulates the rung where it can be, and predicts it where it cannot.
RungAnalysis analysis_of(const ladder::Rung& rung, const ladder::Matrix& matrix,
                         const AnalyseArguments& arguments) {
  const std::string dtype = arguments.dtype.empty() ? "f32" : arguments.dtype;
  const plan::gpu::DeviceInfo fitted = plan::gpu::device_named("h200");
  const plan::gpu::DeviceInfo device =
      arguments.on.empty() ? fitted : plan::gpu::device_named(arguments.on, "--on");
  RungAnalysis analysis{&rung, dtype, {}, {}, {}, {}, {}, device == fitted};
  if (rung.family == ladder::Family::kernel_form) {
    require_emulation(matrix);
    std::atomic<std::int64_t> stored{0};
    const ProgressLine line(matrix.size(), [&] { return stored.load(); });
    ladder::Emulation run = ladder::emulate(rung, matrix, &stored);
    analysis.ran = Ran{run.findings, ladder::path_picture(run, rung)};
    if (!run.mismatch.empty()) analysis.ran->wrong.push_back(run.mismatch);
    analysis.predicted = std::move(run);
  } else {
    analysis.predicted = ladder::predict(rung, matrix);
  }
  const ladder::Rung* before = ladder::find_rung(rung.after);
  if (before != nullptr && !ladder::why_not(*before, matrix) && matrix.size() > 0) {
    analysis.than_after = ladder::difference(
        analysis.predicted, ladder::predict(*before, ladder::representative(matrix)));
  }
  const ladder::Matrix asked =
      arguments.shape.empty() ? ladder::predicted_matrix(matrix.bytes) : matrix;
  if (analysis.failed()) {
    analysis.why_no_speed = "the result is wrong";
  } else {
    analysis.outlook = ladder::outlook_of(analysis.predicted, asked, device);
    if (!analysis.outlook) analysis.why_no_speed = "there is nothing to move";
  }
  return analysis;
}

int analyse_rung(const AnalyseArguments& arguments) {
  const ladder::Rung* rung = ladder::find_rung(arguments.what);
  if (rung == nullptr) refuse_rung("WHAT", arguments.what);
  const std::string dtype = arguments.dtype.empty() ? "f32" : arguments.dtype;
  const ladder::Matrix matrix =
      parse_matrix(arguments.shape.empty() ? "512,512" : arguments.shape, dtype);
  if (const auto reason = ladder::why_not(*rung, matrix)) {
    throw Error(Status::invalid_argument,
                fmt::format("{} cannot take {} x {} of {}: {}", rung->name, matrix.rows,
                            matrix.cols, dtype, *reason));
  }
  const RungAnalysis analysis = analysis_of(*rung, matrix, arguments);
  if (arguments.json) {
    io::print_json(to_json(analysis));
  } else {
    print_text(analysis);
  }
  if (!analysis.failed()) return 0;
  for (const std::string& line : analysis.ran->wrong) io::complain(line);
  return exit_failed;
}

void analyse_layout(const AnalyseArguments& arguments) {
  if (!arguments.on.empty()) {
    throw Error(Status::invalid_argument, "--on is for rungs: of a layout no time is predicted");
  }
  if (!arguments.shape.empty() || !arguments.dtype.empty()) {
    throw Error(Status::invalid_argument,
                "--shape and --dtype are for rungs: a layout has a shape, --bytes says how large "
                "its elements are");
  }
  int bytes = 0;
  if (!arguments.bytes.empty()) {
    const std::vector<std::int64_t> numbers = parse_numbers("--bytes", arguments.bytes);
    if (numbers.size() != 1 || numbers[0] < 1 || numbers[0] > 16) {
      throw Error(Status::invalid_argument,
                  fmt::format("--bytes = '{}' is none of 1, 2, 4, 8 and 16", arguments.bytes));
    }
    bytes = static_cast<int>(numbers[0]);
  }
  const SwizzledLayout layout = parse_layout_of(arguments.what, bytes);
  const LayoutReport report = report_layout(layout, bytes);
  io::print("{}", arguments.json ? report.json() + "\n" : report.text());
}

}  // namespace

void add_analyse_command(CLI::App& app) {
  auto arguments = std::make_shared<AnalyseArguments>();
  CLI::App& command = *app.add_subcommand(
      "analyse", "Says what one rung of the ladder, or a layout, does to memory. It needs no GPU");
  command
      .add_option("WHAT", arguments->what,
                  "A rung, as `cornerturn ladder` lists them, or a layout as CuTe writes it: "
                  "\"Swizzle<3,3,3> o (8,64):(64,1)\"")
      ->required()
      ->type_name("RUNG|LAYOUT");
  command
      .add_option("--shape", arguments->shape,
                  "Give a rung a row-major matrix of this shape (default: 512,512)")
      ->type_name("M,N");
  command
      .add_option("--dtype", arguments->dtype,
                  "Give it elements of this type, of 1, 2, 4 or 8 bytes (default: f32)")
      ->type_name("TYPE");
  command
      .add_option("--bytes", arguments->bytes,
                  "Take so many bytes for an element of a layout (default: 4)")
      ->type_name("1|2|4|8|16");
  command
      .add_option("--on", arguments->on,
                  "Predict a rung's speed on this GPU: a name such as rtx4090, or a JSON file "
                  "(default: h200, the only one that was measured)")
      ->type_name("GPU|FILE");
  command.add_flag("--json", arguments->json, "Write the report as JSON");
  command.callback([arguments] {
    if (is_layout(arguments->what)) return analyse_layout(*arguments);
    if (!arguments->bytes.empty()) {
      throw Error(Status::invalid_argument, "--bytes is for layouts: a rung has --dtype");
    }
    if (const int code = analyse_rung(*arguments); code != 0) throw CLI::RuntimeError(code);
  });
}

}  // namespace cornerturn::cli
