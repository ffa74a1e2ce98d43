// cornerturn transpose --to q8_0, --from fp8_1x128, ...: values into blocks along the last axis,
// and blocks into values. In pieces: neither the result nor the source, which is mapped or read as
// it is needed, has to fit in memory. (Scales that are read, at most an 8th of it, do.)
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "array_output.hpp"
#include "block_arguments.hpp"
#include "cornerturn/cornerturn.hpp"
#include "cpu/threads.hpp"
#include "io/npy_dtype.hpp"
#include "io/rearrange_blocks_gpu.hpp"
#include "progress.hpp"
#include "scale_file.hpp"
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
    find_rule();
    find_tensor_scale();
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
    if (blocks_.back() && blocks_.row().has_scales()) read_scales(blocks_.blocks_shape(header));
    task_ = blocks_.task(header, order_, scales_.header.fortran_order);
    open_output("OUT", arguments_.out, header_of(task_.to[0]));
    if (task_.to.size() > 1) {
      scale_file_ = ScaleFile(blocks_.row(), arguments_.scales.layout, shape_of(task_.to[1]));
      open_output("--scales", arguments_.scales.file, scale_file_.header());
    }
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
    const BlockRow& row = blocks_.row();
    const ScaleArguments& scales = arguments_.scales;
    if (row.has_scales() && scales.file.empty()) {
      refuse(
          fmt::format("--scales is missing: {} needs a file for the scales of its blocks", option));
    }
    for (const auto& [name, value] : scales.given()) {
      if (row.has_scales()) break;
      refuse(fmt::format("{} = '{}': the blocks of {} hold their scales", name, value, row.name));
    }
    if (scales.file == "-" || files::is_standard_output(scales.file)) {
      refuse(files::label_of("--scales", scales.file) + ": it has to be a file");
    }
  }

  void find_rule() {
    const std::string& name = arguments_.scales.rule;
    if (name.empty()) return;
    static constexpr std::array names = {"floor", "ceil", "even", "exact"};
    const auto found = std::find(names.begin(), names.end(), name);
    if (found == names.end()) {
      refuse(fmt::format("--scale-rule = '{}' is none of {}", name, fmt::join(names, ", ")));
    }
    const auto rule = static_cast<BlockScale>(found - names.begin());
    if (blocks_.back()) refuse("--scale-rule: it belongs to --to, where values become blocks");
    if (!blocks_.row().takes(rule)) {
      std::vector<std::string_view> taken;
      for (std::size_t i = 0; i < names.size(); ++i) {
        if (blocks_.row().takes(static_cast<BlockScale>(i))) taken.push_back(names[i]);
      }
      refuse(fmt::format("--scale-rule = '{}' is no rule for the scales of {}: use {}", name,
                         blocks_.row().name, fmt::join(taken, " or ")));
    }
    options_.scale = rule;
  }

  void find_tensor_scale() {
    const std::string& text = arguments_.scales.tensor_scale;
    const BlockRow& row = blocks_.row();
    const bool has_one = row.scale == ScaleType::e4m3;
    if (text.empty() && has_one && (blocks_.back() || (arguments_.to_pipe && !arguments_.json))) {
      refuse(fmt::format(
          "--tensor-scale is missing: {} needs it, {}", blocks_.option(),
          blocks_.back() ? "as --to has said it" : "because nothing is said where OUT is a pipe"));
    }
    if (text.empty()) return;
    if (!has_one) {
      refuse(fmt::format("--tensor-scale = '{}': {} has no scale of the tensor", text, row.name));
    }
    float scale = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), scale);
    if (error != std::errc() || end != text.data() + text.size() || scale <= 0) {
      refuse(fmt::format("--tensor-scale = '{}' is no positive number", text));
    }
    tensor_scale_ = options_.tensor_scale = scale;
  }

  // In one more pass, where it is not given.
  void search_tensor_scale() {
    if (tensor_scale_ || blocks_.row().scale != ScaleType::e4m3) return;
    const Problem& problem = task_.from[0].problem;
    Extents shape, strides;
    for (const Mode& mode : problem.modes) {
      shape.push_back(mode.extent);
      strides.push_back(mode.src_stride);
    }
    BlockOptions search;
    search.threads = options_.threads;
    tensor_scale_ = options_.tensor_scale = nvfp4_tensor_scale(
        ConstView(sources_[0].memory, task_.from[0].type, shape, strides), search);
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
    search_tensor_scale();
    if (task_.from.size() > 1) sources_.push_back({scales_.spooled.data(), nullptr, 0});
    std::vector<io::Sink> sinks;
    for (const ArrayOutput& output : outputs_) sinks.push_back(output.sink());
    // Scales that do not lie as they are made wait here.
    const bool scales_wait = sinks.size() > 1 && !(scale_file_.header() == packed_scales());
    files::File packed;
    if (scales_wait) {
      packed = files::temporary_file(temporary_directory(arguments_), task_.to[1].problem.bytes());
      sinks[1] = {&packed, 0};
    }
    const Clock::time_point start = Clock::now();
    const ProgressLine line(task_.result_bytes(), [&] { return progress_.bytes_written.load(); });
    on_gpu_ ? io::rearrange_blocks_on_gpu(task_, *schedule_, sources_, sinks, options_, progress_)
            : io::rearrange_blocks_on_cpu(task_, *schedule_, sources_, sinks, options_, progress_);
    if (scales_wait) write_scales(packed);
    seconds_ = seconds_since(start);
    find_kernel();
  }

  io::NpyHeader packed_scales() const { return header_of(task_.to[1]); }

  void write_scales(const files::File& packed) {
    io::Buffer scales(task_.to[1].problem.bytes());
    packed.read_at(scales.data(), task_.to[1].problem.bytes(), 0);
    const io::Buffer stored = scale_file_.from_packed(scales.data());
    outputs_[1].sink().file->write(stored.data(), outputs_[1].bytes());
  }

  // As they were made, from where they are written.
  io::Buffer written_scales() const {
    io::Buffer stored(outputs_[1].bytes());
    const io::Sink sink = outputs_[1].sink();
    sink.file->read_at(stored.data(), outputs_[1].bytes(), sink.offset);
    return scale_file_.to_packed(stored.data(), scale_file_.header().fortran_order);
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
    io::Buffer scales;
    if (results.size() > 1) {
      scales = written_scales();
      results[1].memory = scales.data();
    }
    io::Progress progress;
    const Clock::time_point start = Clock::now();
    const ProgressLine line(task_.result_bytes(), [&] { return progress.bytes_compared.load(); });
    io::verify_blocks(task_, sources_, results, options_, memory_, progress);
    input_.file.require_size(input_.in_memory() ? 0 : input_.offset + input_.bytes);
    verify_seconds_ = seconds_since(start);
  }

  void read_scales(const Extents& blocks) {
    io::InputOptions options;
    options.argument = "--scales";
    scales_ = io::open_array(arguments_.scales.file, options);
    const io::NpyHeader& header = scales_.header;
    scale_file_ = ScaleFile(blocks_.row(), arguments_.scales.layout, blocks);
    const io::NpyHeader expected = scale_file_.header();
    const auto type_of = [](const io::NpyHeader& file) {
      return io::element_type_of(file.descr, file.item_size);
    };
    if (header.item_size != expected.item_size || type_of(header) != type_of(expected)) {
      refuse(fmt::format("{} holds {}: scales are {}", scales_.file.label(), io::descr_text(header),
                         io::descr_text(expected)));
    }
    if (header.shape != expected.shape) {
      refuse(fmt::format("{} has the shape {}: for the {} values in IN it has to be {}",
                         scales_.file.label(), io::shape_text(header.shape),
                         io::shape_text(input_.header.shape), io::shape_text(expected.shape)));
    }
    if (scales_.bytes == 0) return;
    if (!scales_.in_memory()) {
      scales_.spooled = io::Buffer(scales_.bytes);
      scales_.file.read_at(scales_.spooled.data(), scales_.bytes, scales_.offset);
    }
    if (scale_file_.is_plain()) return;
    scales_.spooled = scale_file_.to_packed(scales_.spooled.data(), scales_.header.fortran_order);
    scales_.header.fortran_order = false;
  }

  void open_output(const std::string& argument, const std::string& path,
                   const io::NpyHeader& header) {
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
    outputs_.emplace_back(argument, path, header, false, arguments_.sync());
  }

  static Extents shape_of(const io::BlockOperand& operand) {
    Extents shape;
    for (const Mode& mode : operand.problem.modes) shape.push_back(mode.extent);
    return shape;
  }

  // As a file has it, where a block whose scale is inside is so many bytes in a row.
  static io::NpyHeader header_of(const io::BlockOperand& result) {
    const bool whole = result.type.kind() == Kind::bytes;
    const ElementType type = whole ? ElementType(Kind::u8) : result.type;
    io::NpyHeader header;
    header.descr = io::descr_of(type);
    header.item_size = type.size();
    header.shape = shape_of(result);
    if (whole) header.shape.back() *= result.type.size();
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
    const std::string name(blocks_.row().name);
    TransposeReport report;
    report.permutation = order_;
    report.result = result;
    report.moved_bytes = input_.bytes;
    report.result_bytes = outputs_[0].bytes();
    report.types = blocks_.back() ? fmt::format("{} to {}", name, io::descr_text(result))
                                  : fmt::format("{} to {}", io::descr_text(input_.header), name);
    report.blocks = name;
    report.tensor_scale = tensor_scale_;
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
  std::optional<float> tensor_scale_;
  bool on_gpu_ = false;
  std::int64_t memory_ = 0;
  io::InputArray input_;
  io::InputArray scales_;
  ScaleFile scale_file_;
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
  for (const auto& [name, value] : arguments.scales.given()) {
    refuse(
        fmt::format("{} = '{}': it belongs to --to and --from fp8_1x128 and the like, whose "
                    "blocks have scales in a file of their own",
                    name, value));
  }
}

void transpose_blocks(const TransposeArguments& arguments) {
  BlockTransposition(arguments).run();
}

}  // namespace cornerturn::cli
