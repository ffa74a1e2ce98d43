// cornerturn transpose --to q8_0, --from mxfp8_e4m3, ...: values into blocks of 32 along the last
// axis, and blocks into values. In pieces: neither the result nor the source, which is mapped or
// read as it is needed, has to fit in memory. (The scales of MXFP8, a 32nd of it, are read.)
#include <fmt/format.h>

#include <chrono>
#include <deque>
#include <optional>
#include <vector>

#include "array_output.hpp"
#include "block_arguments.hpp"
#include "cornerturn/cornerturn.hpp"
#include "cpu/threads.hpp"
#include "io/npy_dtype.hpp"
#include "io/rearrange_blocks_gpu.hpp"
#include "progress.hpp"
#include "signals.hpp"
#include "transpose_arguments.hpp"
#include "transpose_report.hpp"

namespace cornerturn::cli {
namespace {

[[noreturn]] void refuse(const std::string& message) {
  throw Error(Status::invalid_argument, message);
}

class BlockTransposition {
 public:
  explicit BlockTransposition(const TransposeArguments& arguments)
      : arguments_(arguments), blocks_(arguments.values, arguments.pad) {
    const Options options = arguments.work.options();
    options_.pad = arguments.pad;
    options_.threads = cpu::resolve_threads(options.threads);
    options_.kernel = options.kernel;
    options_.effort = options.effort;
    check_arguments();
    on_gpu_ = runs_on_gpu(arguments);
    options_.device = on_gpu_ ? "gpu" : "cpu";
  }

  void run() {
    memory_ = arguments_.work.memory_bytes();
    if (memory_ > 0) io::require_memory(memory_);
    input_ = open_input(arguments_, memory_);
    const io::NpyHeader& header = input_.header;
    order_ = arguments_.order.permutation(static_cast<int>(header.shape.size()));
    blocks_.check(header, input_.file.label(), order_);
    if (blocks_.back() && blocks_.format().has_scales) read_scales(blocks_.scales_shape(header));
    task_ = blocks_.task(header, order_, scales_.header.fortran_order);
    open_output("OUT", arguments_.out, task_.to[0]);
    if (task_.to.size() > 1) open_output("--scales", arguments_.scales, task_.to[1]);
    if (task_.result_bytes() > 0) {
      plan();
      move();
    }
    input_.file.require_size(input_.in_memory() ? 0 : input_.offset + input_.bytes);
    if (arguments_.verify && schedule_) verify();
    commit();
    report();
  }

 private:
  void check_arguments() const {
    const std::string option = blocks_.option();
    if (arguments_.raw) {
      throw Error(Status::unsupported, fmt::format("{}: --raw does not go with it", option));
    }
    const StoredFormat& format = blocks_.format();
    if (format.has_scales && arguments_.scales.empty()) {
      refuse(
          fmt::format("--scales is missing: {} needs a file for the scales of its blocks", option));
    }
    if (!format.has_scales && !arguments_.scales.empty()) {
      refuse(fmt::format("--scales = '{}': the blocks of {} hold their scales", arguments_.scales,
                         format.name));
    }
    if (arguments_.scales == "-" || files::is_standard_output(arguments_.scales)) {
      refuse(files::label_of("--scales", arguments_.scales) + ": it has to be a file");
    }
  }

  void plan() {
    schedule_ = on_gpu_ ? io::make_gpu_block_schedule(task_, memory_, in_order_)
                        : io::make_block_schedule(task_, options_.threads);
    find_kernel();
  }

  // Timing may find another than the model has chosen.
  void find_kernel() {
    const Plan plan = io::block_plan(task_, *schedule_, options_);
    kernel_ = plan.kernel();
    device_ = plan.device();
  }

  void move() {
    sources_ = {source()};
    if (task_.from.size() > 1) sources_.push_back({scales_.spooled.data(), nullptr, 0});
    std::vector<io::Sink> sinks;
    for (const ArrayOutput& output : outputs_) sinks.push_back(output.sink());
    const Clock::time_point start = Clock::now();
    const ProgressLine line(task_.result_bytes(), [&] { return progress_.bytes_written.load(); });
    on_gpu_ ? io::rearrange_blocks_on_gpu(task_, *schedule_, sources_, sinks, options_, progress_)
            : io::rearrange_blocks_on_cpu(task_, *schedule_, sources_, sinks, options_, progress_);
    seconds_ = seconds_since(start);
    find_kernel();
  }

  io::Source source() {
    if (input_.in_memory()) return {input_.spooled.data(), nullptr, 0};
    if (on_gpu_) return {nullptr, &input_.file, input_.offset};
    mapping_ = io::Mapping(input_.file, options_.threads);
    watch_mapping(mapping_.data(), mapping_.size(), input_.file.label());
    input_.file.require_size(input_.offset + input_.bytes);
    return {mapping_.data() + input_.offset, nullptr, 0};
  }

  void verify() {
    std::vector<io::Mapping> mapped;
    std::vector<io::Source> results;
    for (const ArrayOutput& output : outputs_) {
      const io::Sink written = output.sink();
      results.push_back({nullptr, written.file, written.offset});
      if (memory_ > 0) continue;
      mapped.emplace_back(*written.file, options_.threads);
      results.back().memory = mapped.back().data() + written.offset;
    }
    io::Progress progress;
    const Clock::time_point start = Clock::now();
    const ProgressLine line(task_.result_bytes(), [&] { return progress.bytes_compared.load(); });
    io::verify_blocks(task_, sources_, results, options_, memory_, progress);
    input_.file.require_size(input_.in_memory() ? 0 : input_.offset + input_.bytes);
    verify_seconds_ = seconds_since(start);
  }

  void read_scales(const Extents& expected) {
    io::InputOptions options;
    options.argument = "--scales";
    scales_ = io::open_array(arguments_.scales, options);
    const io::NpyHeader& header = scales_.header;
    const bool fits =
        header.item_size == 1 && io::element_type_of(header.descr, 1) == ElementType(Kind::u8);
    if (!fits) {
      refuse(fmt::format("{} holds {}: scales are '|u1'", scales_.file.label(),
                         io::descr_text(header)));
    }
    if (header.shape != expected) {
      refuse(fmt::format("{} has the shape {}: for the {} values in IN it has to be {}",
                         scales_.file.label(), io::shape_text(header.shape),
                         io::shape_text(input_.header.shape), io::shape_text(expected)));
    }
    if (scales_.in_memory() || scales_.bytes == 0) return;
    scales_.spooled = io::Buffer(scales_.bytes);
    scales_.file.read_at(scales_.spooled.data(), scales_.bytes, scales_.offset);
  }

  void open_output(const std::string& argument, const std::string& path,
                   const io::BlockOperand& result) {
    const bool to_pipe = check_output(input_, argument, path);
    in_order_ = to_pipe || in_order_;
    if (arguments_.verify && to_pipe) {
      refuse(files::label_of(argument, path) + " cannot be read again: --verify needs a file");
    }
    if (scales_.file.is_open()) check_output(scales_, argument, path);
    if (!outputs_.empty() && files::same_place(path, arguments_.out)) {
      refuse(fmt::format("{} is OUT as well: it has to be another file",
                         files::label_of(argument, path)));
    }
    outputs_.emplace_back(argument, path, header_of(result), false, arguments_.sync());
  }

  // As a file has it, where a block of q8_0 is 34 bytes in a row.
  io::NpyHeader header_of(const io::BlockOperand& result) const {
    const bool q8 = result.type == ElementType::bytes(q8_0_bytes);
    const ElementType type = q8 ? ElementType(Kind::u8) : result.type;
    io::NpyHeader header;
    header.descr = io::descr_of(type);
    header.item_size = type.size();
    for (const Mode& mode : result.problem.modes) header.shape.push_back(mode.extent);
    if (q8) header.shape.back() *= q8_0_bytes;
    return header;
  }

  void commit() {
    const Clock::time_point start = Clock::now();
    std::vector<files::OutputFile*> all;
    for (ArrayOutput& output : outputs_) all.push_back(&output.output_file());
    files::OutputFile::commit(all);
    sync_seconds_ = seconds_since(start);
  }

  void report() const {
    const io::NpyHeader& result = outputs_[0].header();
    const char* name = blocks_.format().name;
    TransposeReport report;
    report.permutation = order_;
    report.result = result;
    report.moved_bytes = input_.bytes;
    report.result_bytes = outputs_[0].bytes();
    report.types = blocks_.back() ? fmt::format("{} to {}", name, io::descr_text(result))
                                  : fmt::format("{} to {}", io::descr_text(input_.header), name);
    report.blocks = name;
    if (schedule_) report.schedule = io::summary_of(task_, *schedule_);
    report.kernel = kernel_;
    report.device = device_;
    report.seconds = seconds_;
    report.verify_seconds = verify_seconds_;
    report.sync_seconds = sync_seconds_;
    report.synced = outputs_[0].syncs();
    report.print(arguments_, input_, progress_);
  }

  const TransposeArguments& arguments_;
  BlockArguments blocks_;
  BlockOptions options_;
  bool on_gpu_ = false;
  std::int64_t memory_ = 0;
  io::InputArray input_;
  io::InputArray scales_;
  std::vector<int> order_;
  io::BlockTask task_;
  std::optional<io::BlockSchedule> schedule_;
  std::string kernel_;
  std::string device_ = "cpu";
  std::deque<ArrayOutput> outputs_;
  bool in_order_ = false;  // of any output
  std::vector<io::Source> sources_;
  io::Mapping mapping_;
  io::Progress progress_;
  double seconds_ = 0;
  double verify_seconds_ = 0;
  double sync_seconds_ = 0;
};

}  // namespace

void refuse_block_options(const TransposeArguments& arguments) {
  refuse_pad(arguments.pad);
  if (!arguments.scales.empty()) {
    refuse(fmt::format("--scales = '{}': it belongs to --to and --from mxfp8_e4m3 and mxfp8_e5m2",
                       arguments.scales));
  }
}

void transpose_blocks(const TransposeArguments& arguments) {
  BlockTransposition(arguments).run();
}

}  // namespace cornerturn::cli
