// cornerturn transpose --to q8_0, --from mxfp8_e4m3, ...: values into blocks of 32 along the last
// axis, and blocks into values. In pieces: neither the result nor the source, which is mapped or
// read as it is needed, has to fit in memory. (The scales of MXFP8, a 32nd of it, are read.)
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <deque>
#include <filesystem>
#include <optional>
#include <vector>

#include "array_output.hpp"
#include "core/divide.hpp"
#include "cornerturn/cornerturn.hpp"
#include "cpu/threads.hpp"
#include "cuda/device.hpp"
#include "io/npy_dtype.hpp"
#include "io/rearrange_blocks_gpu.hpp"
#include "progress.hpp"
#include "signals.hpp"
#include "transpose_arguments.hpp"
#include "transpose_report.hpp"

namespace cornerturn::cli {
namespace {

using Clock = std::chrono::steady_clock;

struct Format {
  const char* name;
  Kind element;            // of the array of values, as a file has it
  std::int64_t per_block;  // elements in that array
  bool has_scales;         // in a file of their own

  // Of an element as the library has it: a block of q8_0 is one.
  ElementType stored() const {
    return has_scales ? ElementType(element) : ElementType::bytes(q8_0_bytes);
  }
};
constexpr std::array formats = {Format{"q8_0", Kind::u8, q8_0_bytes, false},
                                Format{"mxfp8_e4m3", Kind::f8_e4m3, block_values, true},
                                Format{"mxfp8_e5m2", Kind::f8_e5m2, block_values, true}};

const Format* format_named(const std::string& name) {
  const auto* found = std::find_if(formats.begin(), formats.end(),
                                   [&](const Format& format) { return name == format.name; });
  return found == formats.end() ? nullptr : found;
}

[[noreturn]] void refuse(const std::string& message) {
  throw Error(Status::invalid_argument, message);
}

Extents with(Extents extents, std::size_t axis, std::int64_t extent) {
  extents[axis] = extent;
  return extents;
}

// Neither file need be there.
bool same_place(const std::string& a, const std::string& b) {
  namespace fs = std::filesystem;
  return fs::weakly_canonical(fs::absolute(a)) == fs::weakly_canonical(fs::absolute(b));
}

class BlockTransposition {
 public:
  explicit BlockTransposition(const TransposeArguments& arguments)
      : arguments_(arguments),
        to_(format_named(arguments.values.to)),
        from_(format_named(arguments.values.from)),
        format_(to_ != nullptr ? *to_ : *from_) {
    options_.pad = arguments.pad;
    options_.threads = arguments.work.options().threads;
    check_arguments();
    on_gpu_ = runs_on_gpu(arguments);
  }

  void run() {
    memory_ = arguments_.work.memory_bytes();
    if (memory_ > 0) io::require_memory(memory_);
    input_ = open_input(arguments_, memory_);
    rank_ = input_.header.shape.size();
    if (rank_ == 0) refuse(option() + ": an array of no axes has no blocks");
    order_ = arguments_.order.permutation(static_cast<int>(rank_));
    to_ != nullptr ? prepare_blocks() : prepare_values();
    if (outputs_[0].bytes() > 0) move();
    input_.file.require_size(input_.in_memory() ? 0 : input_.offset + input_.bytes);
    for (ArrayOutput& output : outputs_) output.prepare();
    for (std::size_t i = outputs_.size(); i-- > 0;) outputs_[i].commit();
    report();
  }

 private:
  // What asks for blocks.
  std::string option() const {
    return fmt::format("{} {}", to_ != nullptr ? "--to" : "--from", format_.name);
  }

  void check_arguments() const {
    const ValueArguments& values = arguments_.values;
    if (to_ != nullptr && from_ != nullptr) {
      refuse(fmt::format("--from {} with --to {}: values become blocks, or blocks values",
                         from_->name, to_->name));
    }
    if (!values.scale.empty() || !values.bias.empty() || values.saturate ||
        !values.stochastic.empty() || arguments_.verify || arguments_.raw ||
        !arguments_.work.kernel.empty() || arguments_.work.effort != "estimate") {
      throw Error(Status::unsupported,
                  fmt::format("{}: it goes with {}, --perm, --pattern, --device, --threads, "
                              "--memory and --json alone",
                              option(),
                              format_.has_scales ? "--from, --to, --scales, --pad"
                                                 : "--from, --to, --pad"));
    }
    if (arguments_.pad && to_ == nullptr) {
      refuse("--pad: it belongs to --to, where values become blocks");
    }
    if (format_.has_scales && arguments_.scales.empty()) {
      refuse(fmt::format("--scales is missing: {} needs a file for the scales of its blocks",
                         option()));
    }
    if (!format_.has_scales && !arguments_.scales.empty()) {
      refuse(fmt::format("--scales = '{}': the blocks of {} hold their scales", arguments_.scales,
                         format_.name));
    }
    if (arguments_.scales == "-") refuse("--scales = '-': it has to be a file");
  }

  void prepare_blocks() {
    const io::NpyHeader& header = input_.header;
    ValueArguments only_types;
    only_types.from = arguments_.values.from;
    values_ = only_types.source_type(header.descr, header.item_size);
    const Extents shape = permuted(header.shape, order_);
    const std::size_t last = rank_ - 1;
    if (shape[last] % block_values != 0 && !arguments_.pad) {
      refuse(
          fmt::format("{}: the last axis of OUT has {} values, no multiple of {}: --pad fills "
                      "the last block of a row with zeros",
                      option(), shape[last], block_values));
    }
    const std::int64_t blocks = ceil_div(shape[last], std::int64_t{block_values});
    open_output("OUT", arguments_.out, ElementType(format_.element),
                with(shape, last, blocks * format_.per_block));
    if (format_.has_scales) {
      open_output("--scales", arguments_.scales, ElementType(Kind::u8), with(shape, last, blocks));
    }
  }

  void prepare_values() {
    check_blocks();
    const std::size_t last = rank_ - 1;
    const std::int64_t blocks = input_.header.shape[last] / format_.per_block;
    if (format_.has_scales) read_scales(with(input_.header.shape, last, blocks));
    values_ = arguments_.values.result_type(values_);
    open_output("OUT", arguments_.out, values_,
                permuted(with(input_.header.shape, last, blocks * block_values), order_));
  }

  io::BlockTask task() const {
    const Extents& shape = input_.header.shape;
    const io::FileOrder order{input_.header.fortran_order, order_};
    if (to_ != nullptr) return io::task_to_blocks(format_.stored(), values_, shape, order);
    const Extents blocks = with(shape, rank_ - 1, shape.back() / format_.per_block);
    return io::task_from_blocks(format_.stored(), values_, blocks, order,
                                scales_.header.fortran_order);
  }

  void move() {
    task_ = task();
    schedule_ = on_gpu_ ? io::make_gpu_block_schedule(task_, memory_, in_order_)
                        : io::make_block_schedule(task_, cpu::resolve_threads(options_.threads));
    std::vector<io::Source> sources = {source()};
    if (task_.from.size() > 1) sources.push_back({scales_.spooled.data(), nullptr, 0});
    std::vector<io::Sink> sinks;
    for (const ArrayOutput& output : outputs_) sinks.push_back(output.sink());
    const Clock::time_point start = Clock::now();
    const ProgressLine line(task_.result_bytes(), [&] { return progress_.bytes_written.load(); });
    on_gpu_ ? io::rearrange_blocks_on_gpu(task_, *schedule_, sources, sinks, options_, progress_)
            : io::rearrange_blocks_on_cpu(task_, *schedule_, sources, sinks, options_, progress_);
    seconds_ = std::chrono::duration<double>(Clock::now() - start).count();
  }

  io::Source source() {
    if (input_.in_memory()) return {input_.spooled.data(), nullptr, 0};
    if (on_gpu_) return {nullptr, &input_.file, input_.offset};
    mapping_ = io::Mapping(input_.file, cpu::resolve_threads(options_.threads));
    watch_mapping(mapping_.data(), mapping_.size(), input_.file.label());
    input_.file.require_size(input_.offset + input_.bytes);
    return {mapping_.data() + input_.offset, nullptr, 0};
  }

  // Is IN an array of such blocks?
  void check_blocks() const {
    const io::NpyHeader& header = input_.header;
    const std::string& label = input_.file.label();
    const bool fits = format_.has_scales
                          ? header.item_size == 1
                          : header.item_size == 1 && element_of(header) == ElementType(Kind::u8);
    if (!fits) {
      refuse(fmt::format("{} holds {}: {} is stored as {}", label, io::descr_text(header),
                         format_.name, format_.has_scales ? "elements of one byte" : "'|u1'"));
    }
    const std::int64_t extent = header.shape.back();
    if (extent % format_.per_block != 0) {
      refuse(fmt::format("{}: its last axis of {} is no multiple of {}, a block of {}", label,
                         extent, format_.per_block, format_.name));
    }
    if (!format_.has_scales && header.fortran_order && rank_ > 1) {
      refuse(fmt::format("{} is in Fortran order: the bytes of a block have to follow one another",
                         label));
    }
  }

  static ElementType element_of(const io::NpyHeader& header) {
    return io::element_type_of(header.descr, header.item_size);
  }

  void read_scales(const Extents& expected) {
    io::InputOptions options;
    options.argument = "--scales";
    scales_ = io::open_array(arguments_.scales, options);
    const io::NpyHeader& header = scales_.header;
    if (header.item_size != 1 || element_of(header) != ElementType(Kind::u8)) {
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

  void open_output(const std::string& argument, const std::string& path, ElementType type,
                   Extents shape) {
    in_order_ = check_output(input_, argument, path) || in_order_;
    if (scales_.file.is_open()) check_output(scales_, argument, path);
    if (!outputs_.empty() && same_place(path, arguments_.out)) {
      refuse(fmt::format("{} is OUT as well: it has to be another file",
                         io::label_of(argument, path)));
    }
    io::NpyHeader header;
    header.descr = io::descr_of(type);
    header.item_size = type.size();
    header.shape = std::move(shape);
    outputs_.emplace_back(argument, path, std::move(header), false);
  }

  void report() const {
    const io::NpyHeader& result = outputs_[0].header();
    TransposeReport report;
    report.permutation = order_;
    report.result = result;
    report.result_bytes = outputs_[0].bytes();
    report.types =
        fmt::format("{} to {}", from_ != nullptr ? format_.name : io::descr_text(input_.header),
                    to_ != nullptr ? format_.name : io::descr_text(result));
    report.blocks = format_.name;
    if (schedule_) report.schedule = io::summary_of(task_, *schedule_);
    if (schedule_ && on_gpu_) {
      report.kernel = io::gpu_block_kernel(task_, *schedule_);
      report.device = cuda::device_info().name;
    }
    report.seconds = seconds_;
    report.print(arguments_, input_, progress_);
  }

  const TransposeArguments& arguments_;
  const Format* to_;
  const Format* from_;
  const Format& format_;
  BlockOptions options_;
  bool on_gpu_ = false;
  std::int64_t memory_ = 0;
  io::InputArray input_;
  io::InputArray scales_;
  std::size_t rank_ = 0;
  std::vector<int> order_;
  ElementType values_{Kind::f32};
  io::BlockTask task_;
  std::optional<io::BlockSchedule> schedule_;
  std::deque<ArrayOutput> outputs_;
  bool in_order_ = false;  // of any output
  io::Mapping mapping_;
  io::Progress progress_;
  double seconds_ = 0;
};

}  // namespace

bool has_blocks(const TransposeArguments& arguments) {
  return format_named(arguments.values.to) != nullptr ||
         format_named(arguments.values.from) != nullptr;
}

void refuse_block_options(const TransposeArguments& arguments) {
  if (arguments.pad) refuse("--pad: it belongs to --to q8_0, ..., whose blocks it fills");
  if (!arguments.scales.empty()) {
    refuse(fmt::format("--scales = '{}': it belongs to --to and --from mxfp8_e4m3 and mxfp8_e5m2",
                       arguments.scales));
  }
}

void transpose_blocks(const TransposeArguments& arguments) {
  BlockTransposition(arguments).run();
}

}  // namespace cornerturn::cli
