// cornerturn transpose --in-place: a file where it lies.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>

#include "cornerturn/version.hpp"
#include "files/checksum.hpp"
#include "files/journal.hpp"
#include "files/place.hpp"
#include "help.hpp"
#include "io/array_file.hpp"
#include "io/in_place.hpp"
#include "io/print.hpp"
#include "progress.hpp"
#include "signals.hpp"
#include "transpose_arguments.hpp"
#include "transpose_report.hpp"

namespace cornerturn::cli {
namespace {

constexpr std::int64_t usual_memory = std::int64_t{1} << 30;

[[noreturn]] void refuse_in_place(const std::string& message) {
  throw Error(Status::invalid_argument, message);
}

void refuse_other_options(const TransposeArguments& arguments) {
  const auto never = [](bool given, const char* option, const char* why) {
    if (given) refuse_in_place(fmt::format("{} does not go with --in-place: {}", option, why));
  };
  never(!arguments.out.empty(), "OUT", "the result takes the place of IN");
  never(arguments.in == "-", "IN = '-'", "it takes a file");
  never(arguments.values.any(), "a conversion", "elements keep their size");
  for (const auto& [name, value] : arguments.scales.given()) {
    never(true, name, "elements keep their size");
  }
  never(arguments.pad, "--pad", "elements keep their size");
  never(arguments.verify, "--verify", "nothing is left to compare with");
  never(arguments.device != "cpu", "--device", "files in place are transposed on the CPU");
  never(!arguments.work.kernel.empty(), "--force", "its pieces have several shapes");
}

// Axes from the slowest to the fastest, whatever the order in the file.
struct Axes {
  Extents shape;
  std::vector<int> perm;

  Axes(const io::NpyHeader& header, const std::vector<int>& permutation) {
    const auto rank = static_cast<int>(header.shape.size());
    for (int i = 0; i < rank; ++i) {
      const int axis = header.fortran_order ? rank - 1 - i : i;
      const int from = permutation[static_cast<std::size_t>(axis)];
      shape.push_back(header.shape[static_cast<std::size_t>(axis)]);
      perm.push_back(header.fortran_order ? rank - 1 - from : from);
    }
  }
};

class TransposedInPlace {
 public:
  explicit TransposedInPlace(const TransposeArguments& arguments)
      : arguments_(arguments), options_(arguments.work.options()) {}

  void run() {
    refuse_other_options(arguments_);
    path_ = files::place_of(arguments_.in).path;
    input_ = open_input(arguments_, 0);
    say_when_interrupted("nothing is changed");
    journal_ = files::Journal::waiting(path_, input_.file, arguments_.sync());
    resumed_ = journal_.has_value();
    find_task();
    const Clock::time_point start = Clock::now();
    move();
    seconds_ = seconds_since(start);
    report();
  }

 private:
  // What is to be done. A journal says which memory the work was begun with, and how the header
  // was: the new one may stand in the file already.
  void find_task() {
    header_ = input_.header;
    std::int64_t memory = arguments_.work.memory_bytes();
    if (memory == 0) {
      memory = std::max(io::least_memory, std::min(usual_memory, available_memory() / 2));
    }
    nlohmann::json known;
    if (journal_) {
      known = nlohmann::json::parse(journal_->task(), nullptr, false);
      if (!known.is_object() || !known.contains("memory") || !known.contains("shape")) {
        refuse_task("that of another program");
      }
      memory = known["memory"].get<std::int64_t>();
      header_.shape = known["shape"].get<std::vector<std::int64_t>>();
    }
    permutation_ = arguments_.order.permutation(static_cast<int>(header_.shape.size()));
    result_ = header_;
    for (std::size_t i = 0; i < permutation_.size(); ++i) {
      result_.shape[i] = header_.shape[static_cast<std::size_t>(permutation_[i])];
    }
    if (input_.header.shape != header_.shape && input_.header.shape != result_.shape) {
      refuse_in_place(fmt::format("{} has the shape {}, but its journal tells of {}",
                                  input_.file.label(), io::shape_text(input_.header.shape),
                                  io::shape_text(header_.shape)));
    }
    make_schedule(memory);
    task_ = {{"shape", header_.shape},           {"permutation", permutation_},
             {"dtype", io::descr_text(header_)}, {"fortran_order", header_.fortran_order},
             {"offset", input_.offset},          {"memory", memory}};
    if (journal_) require_same_task(known);
    task_["steps"] = steps();
    task_["version"] = version();
  }

  void make_schedule(std::int64_t memory) {
    const Axes axes(header_, permutation_);
    if (input_.bytes == 0) {  // only the header changes
      schedule_ = {axes.shape, axes.perm, header_.item_size, io::least_piece, {}};
    } else {
      schedule_ = io::make_in_place_schedule(axes.shape, axes.perm, header_.item_size, memory);
    }
  }

  // Another version may have other steps to the same end.
  std::string steps() const {
    const std::string text = fmt::format("{} {}", schedule_.piece, io::to_string(schedule_));
    return fmt::format("{:016x}", files::checksum_of(std::as_bytes(std::span(text))));
  }

  void require_same_task(const nlohmann::json& known) const {
    for (const auto& [key, value] : task_.items()) {
      if (!known.contains(key) || known[key] != value) refuse_task(journal_->task());
    }
    if (known.value("steps", "") != steps()) {
      refuse_in_place(
          fmt::format("{} is in the middle of a change that version {} of cornerturn began: only "
                      "that version can finish it",
                      input_.file.label(), visible(known.value("version", "?"))));
    }
  }

  [[noreturn]] void refuse_task(const std::string& task) const {
    refuse_in_place(fmt::format("{} is in the middle of another change, of which '{}' tells: {}",
                                input_.file.label(), visible(journal_->path()), visible(task)));
  }

  files::Journal begin_journal() const {
    try {
      return files::Journal::begin(path_, input_.file, task_.dump(), schedule_.journal_sizes(),
                                   arguments_.sync());
    } catch (const Error& error) {
      if (error.status() != Status::out_of_memory || schedule_.piece <= io::smallest_piece()) throw;
      throw Error(error.status(),
                  fmt::format("{}: the journal takes less with a smaller --memory", error.what()));
    }
  }

  void move() {
    const std::string header =
        input_.raw ? std::string() : io::format_npy_header(result_, input_.offset);
    const std::string label = input_.file.label();
    say_when_interrupted(label + " is unchanged so far: this goes on: " + command_line());
    if (!journal_) journal_ = begin_journal();
    say_when_interrupted(label +
                         " is in the middle of the change, and its journal keeps what the change "
                         "needs: this finishes it: " +
                         command_line());
    if (!io::is_done(schedule_, *journal_)) {
      const ProgressLine line(schedule_.bytes_written(),
                              [&] { return progress_.bytes_written.load(); });
      io::rearrange_in_place(schedule_, input_.file, input_.offset, header, *journal_, options_,
                             progress_);
    }
    journal_->finish();
    say_when_interrupted(label + " is transposed");
  }

  void report() const {
    const double rate = static_cast<double>(input_.bytes) / std::max(seconds_, 1e-9);
    if (arguments_.json) {
      nlohmann::json json = {{"in", arguments_.in},
                             {"in_place", true},
                             {"dtype", io::descr_text(header_)},
                             {"shape", header_.shape},
                             {"permutation", permutation_},
                             {"result_shape", result_.shape},
                             {"bytes", input_.bytes},
                             {"bytes_read", progress_.bytes_read.load()},
                             {"bytes_written", progress_.bytes_written.load()},
                             {"seconds", seconds_},
                             {"bytes_per_second", rate},
                             {"resumed", resumed_},
                             {"synced", !arguments_.no_sync}};
      json["journal_bytes"] = files::Journal::bytes(schedule_.journal_sizes(),
                                                    static_cast<std::int64_t>(task_.dump().size()));
      io::print_as_is(io::report_text(json));
      return;
    }
    io::print("{} {} -> {} in place  {}\n", visible(arguments_.in), io::shape_text(header_.shape),
              io::shape_text(result_.shape), visible(io::descr_text(header_)));
    if (input_.bytes == 0) return;
    io::print("{}{} in {:.3f} s, {}/s\n", resumed_ ? "finished " : "moved    ",
              io::size_text(input_.bytes), seconds_,
              io::size_text(static_cast<std::int64_t>(rate)));
    io::print("{}", io::to_string(schedule_));
  }

  const TransposeArguments& arguments_;
  Options options_;
  std::string path_;
  io::InputArray input_;
  io::NpyHeader header_;  // before
  io::NpyHeader result_;
  std::vector<int> permutation_;
  nlohmann::json task_;
  io::InPlaceSchedule schedule_;
  std::optional<files::Journal> journal_;
  io::Progress progress_;
  double seconds_ = 0;
  bool resumed_ = false;
};

}  // namespace

void transpose_in_place(const TransposeArguments& arguments) {
  TransposedInPlace(arguments).run();
}

}  // namespace cornerturn::cli
