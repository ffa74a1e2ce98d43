// cornerturn transpose: from a file to a file.
#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "commands.hpp"
#include "cornerturn/cornerturn.hpp"
#include "cpu/threads.hpp"
#include "cuda/device.hpp"
#include "io/array_file.hpp"
#include "io/npy_dtype.hpp"
#include "io/output_file.hpp"
#include "io/rearrange.hpp"
#include "io/rearrange_gpu.hpp"
#include "progress.hpp"
#include "signals.hpp"
#include "transpose_arguments.hpp"

namespace cornerturn::cli {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

class Transposition {
 public:
  explicit Transposition(const TransposeArguments& arguments)
      : arguments_(arguments),
        options_(arguments.work.options()),
        on_gpu_(parse_device("--device", arguments.device) == "gpu") {
    if (!on_gpu_) return;
    if (const auto why = cuda::why_no_gpu()) {
      throw Error(Status::unsupported, "--device gpu: " + *why);
    }
  }

  void run() {
    refuse_block_options(arguments_);
    open_input();
    find_conversion();
    header_.shape.clear();
    for (const int axis : permutation_) {
      header_.shape.push_back(input_.header.shape[static_cast<std::size_t>(axis)]);
    }
    find_output();
    plan();
    open_output();
    const Clock::time_point start = Clock::now();
    move();
    move_seconds_ = seconds_since(start);
    input_.file.require_size(input_.in_memory() ? 0 : input_.offset + input_.bytes);
    if (arguments_.verify) verify();
    if (output_) output_->commit();
    report();
  }

 private:
  bool to_pipe() const { return arguments_.to_pipe(); }

  void open_input() {
    memory_ = arguments_.work.memory_bytes();
    input_ = cli::open_input(arguments_, memory_);
    header_ = input_.header;
    header_.fortran_order = false;
    const auto rank = static_cast<int>(header_.shape.size());
    permutation_ = arguments_.order.permutation(rank);
    // A file that memory cannot hold would be read again and again through the mapping.
    if (!on_gpu_ && memory_ == 0 && !input_.in_memory() && input_.bytes > available_memory() / 2) {
      memory_ = std::max(io::least_memory, available_memory() / 2);
    }
  }

  void find_conversion() {
    if (!arguments_.values.any()) return;
    const ElementType from =
        arguments_.values.source_type(input_.header.descr, input_.header.item_size);
    const ElementType to = arguments_.values.result_type(from);
    float bias = 0;
    conversion_ = io::FileConversion(from, to, arguments_.values.epilogue(bias));
    if (!conversion_.converts()) return;
    header_.descr = io::descr_of(to);
    header_.item_size = to.size();
  }

  std::int64_t result_bytes() const { return conversion_.result_bytes(input_.bytes); }

  // What stands at OUT now can be read again or not.
  void find_output() {
    in_order_ = check_output(input_, "OUT", arguments_.out);
    if (arguments_.verify && in_order_) {
      throw Error(Status::invalid_argument, io::label_of("OUT", arguments_.out) +
                                                " cannot be read again: --verify needs a file");
    }
  }

  void plan() {
    if (input_.bytes == 0) return;
    problem_ = io::file_problem(input_.header.shape, input_.header.item_size,
                                input_.header.fortran_order, permutation_);
    threads_ = cpu::resolve_threads(options_.threads);
    if (on_gpu_) {
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
    kernel_ = on_gpu_ ? io::gpu_box_plan(*schedule_, options_, conversion_).kernel()
                      : io::box_plan(*schedule_, options_).kernel();
  }

  void open_output() {
    const std::string header = arguments_.raw ? "" : io::format_npy_header(header_);
    header_bytes_ = static_cast<std::int64_t>(header.size());
    if (to_pipe()) {
      pipe_ = io::File(STDOUT_FILENO, io::label_of("OUT", arguments_.out), false);
    } else {
      output_ = std::make_unique<io::OutputFile>(arguments_.out, header_bytes_ + result_bytes());
    }
    if (in_order_) {
      target().write(header.data(), header_bytes_);
    } else {
      target().write_at(header.data(), header_bytes_, 0);
    }
  }

  const io::File& target() const { return output_ ? output_->file() : pipe_; }

  void move() {
    if (!schedule_) return;
    source_ = {nullptr, &input_.file, input_.offset};
    if (input_.in_memory()) {
      source_.memory = input_.spooled.data();
    } else if (memory_ == 0 && !on_gpu_) {
      mapping_ = io::Mapping(input_.file, threads_);
      watch_mapping(mapping_.data(), mapping_.size(), input_.file.label());
      input_.file.require_size(input_.offset + input_.bytes);
      source_.memory = mapping_.data() + input_.offset;
    }
    const io::Sink sink{&target(), header_bytes_};
    io::Sink scratch = sink;
    io::File temporary;
    if (schedule_->route == io::Route::two_pass && (in_order_ || conversion_.converts())) {
      temporary = io::temporary_file(temporary_directory(arguments_), input_.bytes);
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

  void verify() {
    if (input_.bytes == 0) return;
    io::Source result{nullptr, &target(), header_bytes_};
    io::Mapping mapped;
    if (memory_ == 0) {
      mapped = io::Mapping(target(), threads_);
      result.memory = mapped.data() + header_bytes_;
    }
    io::Progress progress;
    const Clock::time_point start = Clock::now();
    const ProgressLine line(input_.bytes, [&] { return progress.bytes_compared.load(); });
    io::verify(problem_, source_, result, threads_, memory_, progress, conversion_);
    input_.file.require_size(input_.in_memory() ? 0 : input_.offset + input_.bytes);
    verify_seconds_ = seconds_since(start);
  }

  void report() const {
    const double rate = static_cast<double>(input_.bytes) / std::max(move_seconds_, 1e-9);
    if (arguments_.json) {
      nlohmann::json json = {{"in", arguments_.in},
                             {"out", arguments_.out},
                             {"dtype", io::descr_text(input_.header)},
                             {"item_size", input_.header.item_size},
                             {"fortran_order", input_.header.fortran_order},
                             {"shape", input_.header.shape},
                             {"permutation", permutation_},
                             {"result_shape", header_.shape},
                             {"bytes", input_.bytes},
                             {"result_dtype", io::descr_text(header_)},
                             {"result_bytes", result_bytes()},
                             {"seconds", move_seconds_},
                             {"bytes_per_second", rate},
                             {"verified", arguments_.verify}};
      if (arguments_.verify) json["verify_seconds"] = verify_seconds_;
      if (schedule_) {
        json["kernel"] = kernel_;
        json["device"] = device_;
        json["schedule"] = nlohmann::json::parse(io::to_json(*schedule_));
        json["bytes_read"] = progress_.bytes_read.load();
        json["bytes_written"] = progress_.bytes_written.load();
      }
      fmt::print(to_pipe() ? stderr : stdout, "{}\n",
                 json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace));
      return;
    }
    if (to_pipe()) return;
    fmt::print("{} {} -> {} {}  {}{}\n", arguments_.in, io::shape_text(input_.header.shape),
               arguments_.out, io::shape_text(header_.shape), io::descr_text(input_.header),
               conversion_.converts() ? " to " + conversion_.dst_type().name() : "");
    if (!schedule_) return;
    fmt::print("moved    {} in {:.3f} s, {}/s\n", io::size_text(input_.bytes), move_seconds_,
               io::size_text(static_cast<std::int64_t>(rate)));
    fmt::print("kernel   {}{}\n", kernel_, on_gpu_ ? " on " + device_ : "");
    fmt::print("route    {}\n", io::to_string(*schedule_));
    if (arguments_.verify) {
      fmt::print("verified every element, {:.3f} s\n", verify_seconds_);
    }
  }

  const TransposeArguments& arguments_;
  Options options_;
  bool on_gpu_;
  int threads_ = 1;
  io::InputArray input_;
  io::NpyHeader header_;  // of the output
  std::vector<int> permutation_;
  std::int64_t memory_ = 0;
  std::unique_ptr<io::OutputFile> output_;
  io::File pipe_;
  bool in_order_ = false;
  std::int64_t header_bytes_ = 0;
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
};

}  // namespace

void add_transpose_command(CLI::App& app) {
  auto arguments = std::make_shared<TransposeArguments>();
  CLI::App& command = *app.add_subcommand(
      "transpose", "Writes the array in IN to OUT with its axes in another order");
  command.add_option("IN", arguments->in, "A .npy file; - for standard input")
      ->required()
      ->type_name("FILE");
  command
      .add_option("OUT", arguments->out,
                  "Becomes a .npy file, whole or not at all; - for standard output")
      ->required()
      ->type_name("FILE");
  arguments->order.add_to(command);
  arguments->work.add_to(command, true);
  arguments->values.add_to(command);
  command
      .add_option("--scales", arguments->scales,
                  "The scales of mxfp8_e4m3 and mxfp8_e5m2: with --to another .npy file that is "
                  "written, with --from one that is read")
      ->type_name("FILE");
  command.add_flag("--pad", arguments->pad,
                   "With --to q8_0, ...: fill the last block of a row with zeros");
  command
      .add_option("--device", arguments->device,
                  "Transpose on the CPU, or on the GPU, through which the file then streams")
      ->type_name("cpu|gpu");
  CLI::Option* raw = command.add_flag("--raw", arguments->raw,
                                      "IN and OUT have no header; --shape and --dtype tell what "
                                      "is in them, row-major");
  command.add_option("--shape", arguments->shape, "Shape of a raw array")
      ->type_name("3,4,5")
      ->needs(raw);
  command
      .add_option("--dtype", arguments->dtype,
                  "Element of a raw array: f32, u8, c64, b12 (12 bytes), or NumPy's \"<f4\"")
      ->type_name("TYPE")
      ->needs(raw);
  command.add_flag("--verify", arguments->verify,
                   "Read the result again and compare every element, before OUT appears");
  command.add_flag("--json", arguments->json, "Report as JSON");
  command.callback([arguments] {
    if (has_blocks(*arguments)) return transpose_blocks(*arguments);
    Transposition(*arguments).run();
  });
}

}  // namespace cornerturn::cli
