// cornerturn ladder: every rung verified, measured where there is a GPU, and explained.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <memory>

#include "arguments.hpp"
#include "commands.hpp"
#include "cornerturn/error.hpp"
#include "files/output_file.hpp"
#include "io/print.hpp"
#include "io/schedule.hpp"
#include "matrix_arguments.hpp"
#include "plan/gpu/device_files.hpp"
#include "progress.hpp"
#include "workshop/cuda/ladder.hpp"
#include "workshop/ladder/explain.hpp"
#include "workshop/ladder/report.hpp"

namespace cornerturn::cli {
namespace {

struct LadderArguments {
  std::string shape;
  std::string dtype = "f32";
  std::string batch = "1";
  bool fused = false;
  std::vector<std::string> rungs;
  std::string plot;
  bool gpu = false;
  bool no_gpu = false;
  bool json = false;
};

class Climb {
 public:
  explicit Climb(const LadderArguments& arguments) : arguments_(arguments) {
    for (const std::string& name : arguments.rungs) {
      if (ladder::find_rung(name) == nullptr) refuse_rung("--rung", name);
    }
    choose_device();
    report_.matrix =
        parse_matrix(arguments.shape.empty() ? default_shape() : arguments.shape, arguments.dtype);
    stack(report_.matrix);
    report_.dtype = arguments.dtype;
    if (!report_.device) require_emulation(report_.matrix);
    report_.why_no_cute = cuda::why_no_cute();
    for (const ladder::Rung& rung : ladder::rungs()) {
      const auto& wanted = arguments.rungs;
      if (wanted.empty() || std::find(wanted.begin(), wanted.end(), rung.name) != wanted.end()) {
        report_.rows.push_back(row_of(rung));
      }
    }
  }

  int run() {
    std::unique_ptr<files::OutputFile> plot;
    if (!arguments_.plot.empty()) {
      if (!arguments_.plot.ends_with(".svg")) {
        throw Error(Status::invalid_argument,
                    fmt::format("{} does not end in .svg: an SVG is all that can be drawn",
                                files::label_of("--plot", arguments_.plot)));
      }
      plot = std::make_unique<files::OutputFile>(arguments_.plot, 0, "--plot");
    }
    work();
    if (plot) {
      const std::string picture = ladder::to_svg(report_);
      plot->file().write(picture.data(), static_cast<std::int64_t>(picture.size()));
      plot->commit();
    }
    io::print("{}{}", arguments_.json ? ladder::to_json(report_) : ladder::to_text(report_),
              arguments_.json ? "\n" : "");
    const std::vector<std::string> complaints = report_.complaints();
    for (const std::string& line : complaints) io::complain(line);
    return complaints.empty() ? 0 : exit_failed;
  }

 private:
  void choose_device() {
    if (arguments_.no_gpu) return;
    if (const auto reason = cuda::why_no_gpu()) {
      report_.why_no_gpu = *reason;
      if (arguments_.gpu) {
        throw Error(Status::unsupported,
                    "--gpu: " + *reason + "; without it the emulator verifies every rung");
      }
      return;
    }
    report_.device = cuda::device_info();
  }

  void stack(ladder::Matrix& matrix) const {
    const std::vector<std::int64_t> batch = parse_numbers("--batch", arguments_.batch);
    if (batch.size() != 1 || batch[0] < 1) {
      throw Error(
          Status::invalid_argument,
          fmt::format("--batch = '{}' is no number of matrices from 1 on", arguments_.batch));
    }
    matrix =
        ladder::make_matrix(matrix.rows, matrix.cols, matrix.bytes, batch[0], arguments_.fused);
  }

  const char* default_shape() const { return report_.device ? "4096,4096" : "512,512"; }

  ladder::ReportRow row_of(const ladder::Rung& rung) const {
    ladder::ReportRow row;
    row.name = rung.name;
    row.shows = rung.shows;
    row.after = rung.after;
    row.family = rung.family;
    row.why_not = ladder::why_not(rung, report_.matrix).value_or("");
    return row;
  }

  // On a small matrix of the same edges; once for each rung.
  const ladder::Prediction& predict(const ladder::Rung& rung) {
    const auto found = predicted_.find(rung.name);
    if (found != predicted_.end()) return found->second;
    return predicted_
        .emplace(rung.name, ladder::predict(rung, ladder::representative(report_.matrix)))
        .first->second;
  }

  void work() {
    std::unique_ptr<cuda::LadderCase> matrices;
    if (report_.device) {
      const ladder::Matrix& m = report_.matrix;
      matrices = std::make_unique<cuda::LadderCase>(m.rows, m.cols, m.bytes, cuda::MeasureOptions{},
                                                    cuda::Stack{m.batch, m.fused});
    }
    const auto count = static_cast<std::int64_t>(report_.rows.size());
    const ProgressLine line(count * report_.matrix.size(), [&] { return done_.load(); });
    std::int64_t finished = 0;
    for (ladder::ReportRow& row : report_.rows) {
      climb(row, *ladder::find_rung(row.name), matrices.get());
      finished += report_.matrix.size();
      done_ = finished;
    }
  }

  void climb(ladder::ReportRow& row, const ladder::Rung& rung, cuda::LadderCase* matrices) {
    if (!row.why_not.empty()) return;
    if (matrices != nullptr && on_gpu(row.name)) {
      row.measured = matrices->measure(row.name);
      row.why_not = row.measured->why_not;
      if (!row.why_not.empty()) {
        row.measured.reset();
        return;
      }
    }
    if (matrices == nullptr && rung.family == ladder::Family::kernel_form) {
      ladder::Emulation run = ladder::emulate(rung, report_.matrix, &done_);
      row.emulated = run.findings;
      if (!run.mismatch.empty()) row.emulated->push_back(run.mismatch);
      row.predicted = std::move(run);
    } else {
      row.predicted = predict(rung);
    }
    if (is_right(row)) row.outlook = ladder::outlook_of(*row.predicted, predicted_for(), h200_);
    const ladder::Rung* before = ladder::find_rung(row.after);
    if (before != nullptr && !ladder::why_not(*before, report_.matrix)) {
      row.otherwise = ladder::difference(*row.predicted, predict(*before));
    }
  }

  static bool is_right(const ladder::ReportRow& row) {
    if (row.measured) return row.measured->verified;
    return !row.emulated || row.emulated->empty();
  }

  // A large matrix, unless somebody asks about another one.
  ladder::Matrix predicted_for() const {
    const bool any = arguments_.shape.empty() && report_.matrix.batch == 1 && !report_.matrix.fused;
    return any ? ladder::predicted_matrix(report_.matrix.bytes) : report_.matrix;
  }

  static bool on_gpu(const std::string& name) {
    const std::vector<cuda::RungInfo> all = cuda::rungs();
    return std::any_of(all.begin(), all.end(), [&](const auto& rung) { return rung.name == name; });
  }

  const LadderArguments& arguments_;
  const plan::gpu::DeviceInfo h200_ = plan::gpu::device_named("h200");
  ladder::Report report_;
  std::map<std::string_view, ladder::Prediction> predicted_;
  std::atomic<std::int64_t> done_{0};
};

}  // namespace

void add_ladder_command(CLI::App& app) {
  auto arguments = std::make_shared<LadderArguments>();
  CLI::App& command =
      *app.add_subcommand("ladder",
                          "Climbs from the obvious transposition kernel to the limit of the "
                          "memory, and verifies, measures and explains every rung");
  command
      .add_option("--shape", arguments->shape,
                  "Take a row-major matrix of this shape (default: 4096,4096 on a GPU, 512,512 in "
                  "the emulator)")
      ->type_name("M,N");
  command
      .add_option("--dtype", arguments->dtype,
                  "Take elements of this type, of 1, 2, 4 or 8 bytes: f32, u8, ...")
      ->type_name("TYPE");
  command
      .add_option("--batch", arguments->batch,
                  "Take a stack of so many matrices: for the rungs of ggml's copy (default: 1)")
      ->type_name("N");
  command.add_flag(
      "--fused", arguments->fused,
      "Let the source have row 0 of each matrix of the stack, then row 1 of each: what "
      "ggml's copy takes for one matrix");
  command
      .add_option("--rung", arguments->rungs,
                  "Run only this rung, smem for instance; the option may be repeated")
      ->type_name("NAME")
      ->allow_extra_args(false);
  CLI::Option* gpu = command.add_flag("--gpu", arguments->gpu, "Fail where there is no GPU");
  command.add_flag("--no-gpu", arguments->no_gpu, "Use the emulator even where there is a GPU")
      ->excludes(gpu);
  command
      .add_option("--plot", arguments->plot, "Draw the ladder with one bar a rung into this file")
      ->type_name("FILE.svg");
  command.add_flag("--json", arguments->json, "Write the report as JSON");
  command.callback([arguments] {
    if (const int code = Climb(*arguments).run(); code != 0) throw CLI::RuntimeError(code);
  });
}

}  // namespace cornerturn::cli
