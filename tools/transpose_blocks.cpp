// cornerturn transpose --to q8_0, --from mxfp8_e4m3, ...: values into blocks of 32 along the last
// axis, and blocks into values. Some rows of the result at a time: it need not fit in memory, nor
// need the source, which is mapped. (The scales of MXFP8, a 32nd of it, are read.)
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <deque>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <vector>

#include "core/divide.hpp"
#include "cornerturn/cornerturn.hpp"
#include "cpu/threads.hpp"
#include "io/npy_dtype.hpp"
#include "io/output_file.hpp"
#include "io/schedule.hpp"
#include "signals.hpp"
#include "transpose_arguments.hpp"

namespace cornerturn::cli {
namespace {

using Clock = std::chrono::steady_clock;

struct Format {
  const char* name;
  Kind element;            // of the array of values, as a file has it
  std::int64_t per_block;  // elements in that array
  bool has_scales;         // in a file of their own
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

std::int64_t product(const Extents& extents) {
  std::int64_t result = 1;
  for (const std::int64_t extent : extents) result *= extent;
  return result;
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

// A file that is written from the beginning to the end.
class Output {
 public:
  Output(const std::string& argument, const std::string& path, ElementType type, Extents shape) {
    header_.descr = io::descr_of(type);
    header_.item_size = type.size();
    header_.shape = std::move(shape);
    bytes_ = io::array_bytes(header_.shape, header_.item_size);
    const std::string header = io::format_npy_header(header_);
    if (path == "-") {
      pipe_ = io::File(STDOUT_FILENO, io::label_of(argument, path), false);
    } else {
      file_ = std::make_unique<io::OutputFile>(
          path, static_cast<std::int64_t>(header.size()) + bytes_, argument);
    }
    write(header.data(), static_cast<std::int64_t>(header.size()));
  }

  const io::NpyHeader& header() const { return header_; }
  std::int64_t bytes() const { return bytes_; }
  void write(const void* data, std::int64_t bytes) {
    (file_ ? file_->file() : pipe_).write(data, bytes);
  }
  void prepare() {
    if (file_) file_->prepare();
  }
  void commit() {
    if (file_) file_->commit();
  }

 private:
  io::NpyHeader header_;
  std::int64_t bytes_ = 0;
  std::unique_ptr<io::OutputFile> file_;
  io::File pipe_;
};

class BlockTransposition {
 public:
  explicit BlockTransposition(const TransposeArguments& arguments)
      : arguments_(arguments),
        to_(format_named(arguments.values.to)),
        from_(format_named(arguments.values.from)),
        format_(to_ != nullptr ? *to_ : *from_) {
    options_.pad = arguments.pad;
    options_.threads = arguments.work.options().threads;
    parse_device("--device", arguments.device);
    check_arguments();
  }

  void run() {
    input_ = open_input(arguments_, arguments_.work.memory_bytes());
    rank_ = input_.header.shape.size();
    if (rank_ == 0) refuse(option() + ": an array of no axes has no blocks");
    order_ = arguments_.order.permutation(static_cast<int>(rank_));
    const Clock::time_point start = Clock::now();
    to_ != nullptr ? quantise() : dequantise();
    seconds_ = std::chrono::duration<double>(Clock::now() - start).count();
    input_.file.require_size(input_.in_memory() ? 0 : input_.offset + input_.bytes);
    for (Output& output : outputs_) output.prepare();
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
    if (arguments_.device != "cpu" || !values.scale.empty() || !values.bias.empty() ||
        values.saturate || !values.stochastic.empty() || arguments_.verify || arguments_.raw ||
        !arguments_.work.kernel.empty() || arguments_.work.effort != "estimate") {
      throw Error(Status::unsupported,
                  fmt::format("{}: it goes with {}, --perm, --pattern, --threads, --memory and "
                              "--json alone, on the CPU",
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

  // An array in a file, its axes in the order of the result.
  ConstView turned(const std::byte* data, ElementType type, const Extents& shape,
                   bool fortran_order) const {
    const Problem problem = io::file_problem(shape, type.size(), fortran_order, order_);
    Extents turned_shape, strides;
    for (const Mode& mode : problem.modes) {
      turned_shape.push_back(mode.extent);
      strides.push_back(mode.src_stride);
    }
    return {data, type, turned_shape, strides};
  }

  // `count` steps of the first axis.
  static ConstView part(const ConstView& view, std::int64_t first, std::int64_t count) {
    const auto* data = static_cast<const std::byte*>(view.data) + first * view.strides[0];
    return {data, view.type, with(view.shape, 0, count), view.strides};
  }

  // Calls work(first, count) for parts of an axis, in multiples of `unit` that take some MiB each.
  template <class Work>
  static void for_parts(std::int64_t extent, std::int64_t step_bytes, std::int64_t unit,
                        const Work& work) {
    constexpr std::int64_t part_bytes = std::int64_t{32} << 20;
    const std::int64_t at_once = std::max(part_bytes / step_bytes / unit, std::int64_t{1}) * unit;
    for (std::int64_t first = 0; first < extent; first += at_once) {
      work(first, std::min(at_once, extent - first));
    }
  }

  const std::byte* source() {
    if (input_.in_memory()) return input_.spooled.data();
    mapping_ = io::Mapping(input_.file, cpu::resolve_threads(options_.threads));
    watch_mapping(mapping_.data(), mapping_.size(), input_.file.label());
    input_.file.require_size(input_.offset + input_.bytes);
    return mapping_.data() + input_.offset;
  }

  void quantise() {
    ValueArguments only_types;
    only_types.from = arguments_.values.from;
    const ElementType type = only_types.source_type(input_.header.descr, input_.header.item_size);
    const io::NpyHeader& header = input_.header;
    ConstView from = turned(nullptr, type, header.shape, header.fortran_order);
    const std::size_t last = rank_ - 1;
    if (from.shape[last] % block_values != 0 && !arguments_.pad) {
      refuse(
          fmt::format("{}: the last axis of OUT has {} values, no multiple of {}: --pad fills "
                      "the last block of a row with zeros",
                      option(), from.shape[last], block_values));
    }
    const std::int64_t blocks = ceil_div(from.shape[last], std::int64_t{block_values});
    open_output("OUT", arguments_.out, ElementType(format_.element),
                with(from.shape, last, blocks * format_.per_block));
    if (format_.has_scales) {
      open_output("--scales", arguments_.scales, ElementType(Kind::u8),
                  with(from.shape, last, blocks));
    }
    if (outputs_[0].bytes() == 0) return;
    from.data = source();
    const std::int64_t row = last == 0 ? 1 : outputs_[0].bytes() / from.shape[0];
    for_parts(
        from.shape[0], row, last == 0 ? block_values : 1,
        [&](std::int64_t first, std::int64_t count) { quantise_part(part(from, first, count)); });
  }

  void quantise_part(const ConstView& from) {
    const std::size_t last = rank_ - 1;
    const std::int64_t blocks = ceil_div(from.shape[last], std::int64_t{block_values});
    const Extents per_block = with(from.shape, last, blocks);
    const std::int64_t all = product(per_block);
    const auto axis = static_cast<int>(last);
    values_.resize(static_cast<std::size_t>(all * format_.per_block));
    if (format_.has_scales) {
      codes_.resize(static_cast<std::size_t>(all));
      quantise_mxfp8(View(values_.data(), ElementType(format_.element),
                          with(from.shape, last, blocks * block_values)),
                     View(codes_.data(), ElementType(Kind::u8), per_block), from, axis, options_);
      outputs_[1].write(codes_.data(), all);
    } else {
      quantise_q8_0(View(values_.data(), ElementType::bytes(q8_0_bytes), per_block), from, axis,
                    options_);
    }
    outputs_[0].write(values_.data(), all * format_.per_block);
  }

  void dequantise() {
    const io::NpyHeader& header = input_.header;
    const std::size_t last = rank_ - 1;
    check_blocks();
    const std::int64_t blocks = header.shape[last] / format_.per_block;
    const Extents per_block = with(header.shape, last, blocks);
    if (format_.has_scales) read_scales(per_block);
    const ElementType type = arguments_.values.result_type(ElementType(Kind::f32));
    const ConstView plain = turned(nullptr, type, with(header.shape, last, blocks * block_values),
                                   header.fortran_order);
    open_output("OUT", arguments_.out, type, plain.shape);
    if (outputs_[0].bytes() == 0) return;

    const std::byte* data = source();
    const ConstView values =
        format_.has_scales
            ? turned(data, ElementType(format_.element), header.shape, header.fortran_order)
            : turned(data, ElementType::bytes(q8_0_bytes), per_block, false);
    const auto axis =
        static_cast<int>(std::find(order_.begin(), order_.end(), int(last)) - order_.begin());
    const std::int64_t unit = axis == 0 ? block_values : 1;
    const std::int64_t row = outputs_[0].bytes() / plain.shape[0];
    for_parts(plain.shape[0], row, unit, [&](std::int64_t first, std::int64_t count) {
      const Extents shape = with(plain.shape, 0, count);
      const std::int64_t bytes = product(shape) * type.size();
      values_.resize(static_cast<std::size_t>(bytes));
      const View to(values_.data(), type, shape);
      if (format_.has_scales) {
        const ConstView scales = turned(scales_.spooled.data(), ElementType(Kind::u8), per_block,
                                        scales_.header.fortran_order);
        dequantise_mxfp8(to, part(values, first, count), part(scales, first / unit, count / unit),
                         axis, options_);
      } else {
        dequantise_q8_0(to, part(values, first / unit, count / unit), axis, options_);
      }
      outputs_[0].write(values_.data(), bytes);
    });
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
    check_output(input_, argument, path);
    if (scales_.file.is_open()) check_output(scales_, argument, path);
    if (!outputs_.empty() && same_place(path, arguments_.out)) {
      refuse(fmt::format("{} is OUT as well: it has to be another file",
                         io::label_of(argument, path)));
    }
    outputs_.emplace_back(argument, path, type, std::move(shape));
  }

  void report() const {
    const io::NpyHeader& result = outputs_[0].header();
    if (arguments_.json) {
      nlohmann::json json = {{"in", arguments_.in},
                             {"out", arguments_.out},
                             {"dtype", io::descr_text(input_.header)},
                             {"item_size", input_.header.item_size},
                             {"fortran_order", input_.header.fortran_order},
                             {"shape", input_.header.shape},
                             {"permutation", order_},
                             {"blocks", format_.name},
                             {"result_shape", result.shape},
                             {"bytes", input_.bytes},
                             {"result_dtype", io::descr_text(result)},
                             {"result_bytes", outputs_[0].bytes()},
                             {"seconds", seconds_}};
      if (format_.has_scales) json["scales"] = arguments_.scales;
      fmt::print(arguments_.to_pipe() ? stderr : stdout, "{}\n",
                 json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace));
      return;
    }
    if (arguments_.to_pipe()) return;
    fmt::print("{} {} -> {} {}  {} to {}\n", arguments_.in, io::shape_text(input_.header.shape),
               arguments_.out, io::shape_text(result.shape),
               from_ != nullptr ? format_.name : io::descr_text(input_.header),
               to_ != nullptr ? format_.name : io::descr_text(result));
    fmt::print("moved    {} in {:.3f} s\n", io::size_text(input_.bytes), seconds_);
  }

  const TransposeArguments& arguments_;
  const Format* to_;
  const Format* from_;
  const Format& format_;
  BlockOptions options_;
  io::InputArray input_;
  io::InputArray scales_;
  std::size_t rank_ = 0;
  std::vector<int> order_;
  std::deque<Output> outputs_;
  io::Mapping mapping_;
  std::vector<std::byte> values_;
  std::vector<std::byte> codes_;
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
