// cornerturn transpose: from a file to a file.
#include <chrono>
#include <memory>
#include <optional>

#include "array_output.hpp"
#include "block_arguments.hpp"
#include "commands.hpp"
#include "cornerturn/cornerturn.hpp"
#include "cpu/threads.hpp"
#include "io/array_file.hpp"
#include "io/npy_dtype.hpp"
#include "io/rearrange.hpp"
#include "io/rearrange_gpu.hpp"
#include "io/rearrange_indexed.hpp"
#include "progress.hpp"
#include "signals.hpp"
#include "transpose_arguments.hpp"
#include "transpose_report.hpp"

namespace cornerturn::cli {
namespace {

class Transposition {
 public:
  explicit Transposition(const TransposeArguments& arguments)
      : arguments_(arguments),
        options_(arguments.work.options()),
        on_gpu_(runs_on_gpu(arguments)) {}

  void run() {
    refuse_block_options(arguments_);
    open_input();
    find_conversion();
    find_shape();
    find_output();
    plan();
    say_when_interrupted(in_order_ ? "a part of OUT is written"
                                   : files::label_of("OUT", arguments_.out) +
                                         " is as it was before the command");
    output_.emplace("OUT", arguments_.out, header_, arguments_.raw, arguments_.sync());
    const Clock::time_point start = Clock::now();
    move();
    move_seconds_ = seconds_since(start);
    input_.file.require_size(input_.in_memory() ? 0 : input_.offset + input_.bytes);
    if (arguments_.verify) verify();
    commit();
    report();
  }

 private:
  void open_input() {
    memory_ = arguments_.work.memory_bytes();
    input_ = cli::open_input(arguments_, memory_);
    header_ = input_.header;
    header_.fortran_order = false;
    const auto rank = static_cast<int>(header_.shape.size());
    permutation_ = arguments_.order.permutation(rank);
    if (arguments_.index.any()) return read_index();
    // A file that memory cannot hold would be read again and again through the mapping.
    if (!on_gpu_ && memory_ == 0 && !input_.in_memory() && input_.bytes > available_memory() / 2) {
      memory_ = std::max(io::least_memory, available_memory() / 2);
    }
  }

  void read_index() {
    const IndexArguments& index = arguments_.index;
    index.refuse_with("--device gpu", on_gpu_, "it is for the CPU");
    index.refuse_with("--memory", memory_ > 0, "IN is mapped into memory as a whole");
    index_.emplace(index, input_.header.shape);
  }

  // Of the result; `moved_` counts its bytes as elements of IN.
  void find_shape() {
    moved_ = input_.bytes;
    std::vector<std::int64_t> shape = input_.header.shape;
    if (index_) {
      shape = indexed_shape(std::move(shape), index_->list());
      moved_ = io::array_bytes(shape, input_.header.item_size);
    }
    header_.shape = permuted(shape, permutation_);
  }

  void find_conversion() {
    if (!arguments_.values.any()) return;
    const ElementType from =
        arguments_.values.source_type(input_.header.descr, input_.header.item_size);
    const ElementType to = arguments_.values.result_type(from);
    float bias = 0;
    conversion_ = io::FileConversion(from, to, arguments_.values.epilogue(bias));
    if (!conversion_.converts() && !arguments_.values.names_type()) return;
    header_.descr = io::descr_of(to);
    header_.item_size = to.size();
  }

  std::int64_t result_bytes() const { return conversion_.result_bytes(moved_); }

  // What stands at OUT now can be read again or not.
  void find_output() {
    in_order_ = check_output(input_, "OUT", arguments_.out);
    if (index_) check_output(index_->input(), "OUT", arguments_.out);
    if (arguments_.verify && in_order_) {
      throw Error(Status::invalid_argument, files::label_of("OUT", arguments_.out) +
                                                " cannot be read again: --verify needs a file");
    }
  }

  void plan() {
    if (moved_ == 0) return;
    problem_ = io::file_problem(input_.header.shape, input_.header.item_size,
                                input_.header.fortran_order, permutation_);
    threads_ = cpu::resolve_threads(options_.threads);
    if (index_) {
      indexed_.emplace(io::IndexedArray(input_.header.shape, input_.header.item_size,
                                        input_.header.fortran_order, permutation_, index_->list()),
                       threads_);
    } else if (on_gpu_) {
      schedule_ = io::make_gpu_schedule(problem_, memory_, in_order_, conversion_);
      in_order_ = schedule_->in_order;
      device_ = io::gpu_box_plan(*schedule_, options_, conversion_).device();
    } else {
      io::Limits limits;
      limits.threads = threads_;
      limits.memory = memory_;
      if (memory_ > 0 && result_bytes() > input_.bytes) {
        // What is converted takes memory as well, beside what was read and what is in order.
        const std::int64_t wider = result_bytes() / input_.bytes;
        limits.memory = std::max(io::least_memory, memory_ * 2 / (2 + wider));
      }
      limits.in_order = in_order_;
      schedule_ = io::make_schedule(problem_, limits);
    }
    find_kernel();
  }

  // Timing may find another than the model has chosen.
  void find_kernel() {
    kernel_ = indexed_  ? io::piece_plan(*indexed_, options_).kernel()
              : on_gpu_ ? io::gpu_box_plan(*schedule_, options_, conversion_).kernel()
                        : io::box_plan(*schedule_, options_).kernel();
  }

  void move() {
    if (!schedule_ && !indexed_) return;
    source_ = {nullptr, &input_.file, input_.offset};
    if (input_.in_memory()) {
      source_.memory = input_.spooled.data();
    } else if (memory_ == 0 && !on_gpu_) {
      mapping_ = io::Mapping(input_.file, threads_);
      watch_mapping(mapping_.data(), mapping_.size(), input_.file.label());
      input_.file.require_size(input_.offset + input_.bytes);
      source_.memory = mapping_.data() + input_.offset;
    }
    const io::Sink sink = output_->sink();
    if (indexed_) return move_indexed(sink);
    io::Sink scratch = sink;
    files::File temporary;
    if (schedule_->route == io::Route::two_pass && (in_order_ || conversion_.converts())) {
      temporary = files::temporary_file(temporary_directory(arguments_), input_.bytes);
      scratch = {&temporary, 0};
    }
    const ProgressLine line(schedule_->bytes_written() - input_.bytes + result_bytes(),
                            [&] { return progress_.bytes_written.load(); });
    if (on_gpu_) {
      io::rearrange_on_gpu(*schedule_, source_, sink, options_, progress_, conversion_);
    } else {
      io::rearrange(*schedule_, source_, sink, scratch, options_, progress_, conversion_);
    }
    find_kernel();
  }

  void move_indexed(const io::Sink& sink) {
    const ProgressLine line(result_bytes(), [&] { return progress_.bytes_written.load(); });
    io::rearrange_indexed(*indexed_, source_.memory, sink, in_order_, options_, progress_,
                          conversion_);
  }

  void verify() {
    if (moved_ == 0) return;
    const io::Sink written = output_->sink();
    io::Source result{nullptr, written.file, written.offset};
    io::Mapping mapped;
    if (memory_ == 0 && !indexed_) {
      mapped = io::Mapping(*written.file, threads_);
      result.memory = mapped.data() + written.offset;
    }
    io::Progress progress;
    const Clock::time_point start = Clock::now();
    const ProgressLine line(moved_, [&] { return progress.bytes_compared.load(); });
    if (indexed_) {
      io::verify_indexed(*indexed_, source_.memory, result, progress, conversion_);
    } else {
      io::verify(problem_, source_, result, threads_, memory_, progress, conversion_);
    }
    input_.file.require_size(input_.in_memory() ? 0 : input_.offset + input_.bytes);
    verify_seconds_ = seconds_since(start);
  }

  void commit() {
    const Clock::time_point start = Clock::now();
    output_->commit();
    say_when_interrupted(in_order_ ? "OUT is written" : arguments_.out + " is written");
    sync_seconds_ = seconds_since(start);
  }

  void report() const {
    TransposeReport report;
    report.permutation = permutation_;
    report.result = header_;
    report.moved_bytes = moved_;
    report.result_bytes = result_bytes();
    if (index_) report.index = index_->list();
    report.types = io::descr_text(input_.header);
    if (conversion_.converts()) report.types += " to " + conversion_.dst_type().name();
    if (schedule_) report.schedule = io::summary_of(*schedule_);
    if (indexed_) report.schedule = io::summary_of(*indexed_);
    report.kernel = kernel_;
    report.device = device_;
    report.seconds = move_seconds_;
    report.verify_seconds = verify_seconds_;
    report.sync_seconds = sync_seconds_;
    report.synced = output_->syncs();
    report.print(arguments_, input_, progress_);
  }

  const TransposeArguments& arguments_;
  Options options_;
  bool on_gpu_;
  int threads_ = 1;
  io::InputArray input_;
  io::NpyHeader header_;  // of the output
  std::vector<int> permutation_;
  std::optional<IndexFile> index_;
  std::optional<io::IndexedSchedule> indexed_;
  std::int64_t moved_ = 0;
  std::int64_t memory_ = 0;
  std::optional<ArrayOutput> output_;
  bool in_order_ = false;
  Problem problem_;
  io::FileConversion conversion_;
  std::optional<io::Schedule> schedule_;
  std::string kernel_;
  std::string device_ = "cpu";
  io::Source source_;
  io::Mapping mapping_;
  io::Progress progress_;
  double move_seconds_ = 0;
  double verify_seconds_ = 0;
  double sync_seconds_ = 0;
};

}  // namespace

void add_transpose_command(CLI::App& app) {
  auto arguments = std::make_shared<TransposeArguments>();
  CLI::App& command = *app.add_subcommand(
      "transpose", "Writes the array in IN to OUT with its axes in another order");
  command.add_option("IN", arguments->in, "A .npy file; - is standard input")
      ->required()
      ->type_name("FILE");
  const CLI::Option* out =
      command
          .add_option(
              "OUT", arguments->out,
              "The .npy file to write, which appears whole or not at all; - is standard output")
          ->type_name("FILE");
  command.add_flag(
      "--in-place", arguments->in_place,
      "Transpose IN where it lies, with a journal beside it; after an interruption the "
      "same command finishes the work");
  arguments->order.add_to(command);
  arguments->index.add_to(command);
  arguments->work.add_to(command, true);
  arguments->values.add_to(command);
  arguments->scales.add_to(command);
  command.add_flag(
      "--pad", arguments->pad,
      "Fill the last blocks of rows and columns with zeros, with --to q8_0 and the like");
  command
      .add_option("--device", arguments->device,
                  "Transpose on the CPU, or let the file stream through the GPU")
      ->type_name("cpu|gpu");
  CLI::Option* raw = command.add_flag("--raw", arguments->raw,
                                      "Take IN and OUT for files without a header; --shape and "
                                      "--dtype say what is in them, row-major");
  command.add_option("--shape", arguments->shape, "Say which shape a raw array has")
      ->type_name("3,4,5")
      ->needs(raw);
  command
      .add_option(
          "--dtype", arguments->dtype,
          "Say which elements a raw array has: f32, u8, c64, b12 (12 bytes), or NumPy's \"<f4\"")
      ->type_name("TYPE")
      ->needs(raw);
  command.add_flag("--verify", arguments->verify,
                   "Read the result again and compare every element, before OUT appears");
  command.add_flag("--no-sync", arguments->no_sync,
                   "Do not wait until OUT is on the disk: a power failure may then lose it");
  command.add_flag("--json", arguments->json, "Write the report as JSON");
  command.callback([arguments, out] {
    arguments->index.refuse_with("--in-place", arguments->in_place,
                                 "OUT has other entries than IN");
    arguments->index.refuse_with(is_from_blocks(arguments->values)
                                     ? "--from " + arguments->values.from
                                     : "--to " + arguments->values.to,
                                 has_blocks(arguments->values), "it moves single values");
    if (arguments->in_place) return transpose_in_place(*arguments);
    if (out->count() == 0) throw CLI::RequiredError("OUT");
    arguments->to_pipe = files::is_standard_output(arguments->out);
    if (has_blocks(arguments->values)) return transpose_blocks(*arguments);
    Transposition(*arguments).run();
  });
}

}  // namespace cornerturn::cli
