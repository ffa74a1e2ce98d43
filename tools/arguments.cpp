#include "arguments.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <fstream>
#include <limits>
#include <locale>
#include <numeric>
#include <sstream>
#include <string_view>

#include "cornerturn/blocks.hpp"
#include "cornerturn/element_type.hpp"
#include "cornerturn/error.hpp"
#include "cpu/threads.hpp"
#include "io/npy_dtype.hpp"
#include "io/pattern.hpp"
#include "io/schedule.hpp"
#include "io/size.hpp"
#include "plan/plan.hpp"

namespace cornerturn::cli {
namespace {

[[noreturn]] void refuse(const std::string& name, const std::string& text,
                         const std::string& rule) {
  throw Error(Status::invalid_argument, fmt::format("{} = '{}' {}", name, text, rule));
}

// The whole of `text` as a number.
std::optional<std::int64_t> number(std::string_view text) {
  std::int64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stop != end) return std::nullopt;
  return value;
}

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> parts;
  std::istringstream rest(text + ",");
  for (std::string part; std::getline(rest, part, ',');) {
    const std::size_t first = std::min(part.find_first_not_of(' '), part.size());
    parts.push_back(part.substr(first, part.find_last_not_of(' ') + 1 - first));
  }
  // "3," is Python's tuple of one, and "" the shape of a scalar.
  if (parts.back().empty()) parts.pop_back();
  return parts;
}

std::optional<std::int64_t> number_in_file(const char* path, const std::string& key) {
  std::ifstream file(path);
  std::string word;
  while (file >> word) {
    if (!key.empty() && word != key) continue;
    if (!key.empty()) file >> word;
    return number(word);
  }
  return std::nullopt;
}

}  // namespace

std::vector<std::int64_t> parse_numbers(const std::string& name, const std::string& text) {
  std::vector<std::int64_t> numbers;
  for (const std::string& part : split(text)) {
    const std::optional<std::int64_t> value = number(part);
    const std::string entry = fmt::format("{}[{}]", name, numbers.size());
    if (!value) refuse(entry, part, "is not a number");
    if (*value < 0) refuse(entry, part, "is negative");
    numbers.push_back(*value);
  }
  return numbers;
}

void OrderArguments::add_to(CLI::App& command) {
  perm_option = command
                    .add_option("-p,--perm", perm,
                                "Make axis PERM[i] of IN axis i of OUT, as in NumPy, where -1 is "
                                "the last one (default: "
                                "the axes are reversed)")
                    ->type_name("2,0,1");
  pattern_option =
      command
          .add_option(
              "--pattern", pattern,
              "Name the axes instead of counting them: \"h w c -> c h w\", \"... a b -> ... b a\"")
          ->type_name("PATTERN")
          ->excludes(perm_option);
}

std::vector<int> OrderArguments::permutation(int rank) const {
  if (pattern_option->count() > 0) return io::parse_pattern(pattern, rank);
  std::vector<int> axes(static_cast<std::size_t>(rank));
  if (perm_option->count() == 0) {
    std::iota(axes.rbegin(), axes.rend(), 0);
    return axes;
  }
  const std::vector<std::string> parts = split(perm);
  axes.assign(parts.size(), 0);
  std::vector<int> place_of(static_cast<std::size_t>(rank), -1);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const std::string entry = fmt::format("perm[{}]", i);
    const std::optional<std::int64_t> axis = number(parts[i]);
    if (!axis) refuse(entry, parts[i], "is not a number");
    if (*axis < -rank || *axis >= rank) {
      throw Error(Status::invalid_argument,
                  fmt::format("{} = {} is out of range for rank {}", entry, *axis, rank));
    }
    const std::int64_t counted = *axis < 0 ? *axis + rank : *axis;  // -1 is the last one
    int& first = place_of[static_cast<std::size_t>(counted)];
    if (first >= 0) {
      throw Error(
          Status::invalid_argument,
          fmt::format("{} = {} repeats perm[{}]: each axis is named once", entry, *axis, first));
    }
    first = static_cast<int>(i);
    axes[i] = static_cast<int>(counted);
  }
  if (parts.size() != static_cast<std::size_t>(rank)) {
    throw Error(
        Status::invalid_argument,
        fmt::format("perm = '{}' has {} entries, the array has rank {}", perm, parts.size(), rank));
  }
  return axes;
}

void WorkArguments::add_to(CLI::App& command, bool with_effort) {
  std::string kernels;
  for (const plan::Row& row : plan::cpu_registry()) {
    kernels += (kernels.empty() ? "" : "|") + std::string(row.name);
  }
  command
      .add_option("-t,--threads", threads,
                  "Use at most so many threads (default: all that the process may use)")
      ->type_name("N");
  command.add_option("--force", kernel, "Use this kernel where it takes the problem")
      ->type_name(kernels);
  if (with_effort) {
    command.add_option("--effort", effort, "Choose the kernel by a model, or by timing")
        ->type_name("estimate|measure");
  }
  command
      .add_option("-m,--memory", memory,
                  "Use at most so much memory: files are then read and written in pieces instead "
                  "of mapped (512MiB, 2G ...)")
      ->type_name("SIZE");
}

Options WorkArguments::options() const {
  Options options;
  if (!threads.empty()) {
    const std::optional<std::int64_t> value = number(threads);
    if (!value || *value < 1 || *value > cpu::most_threads) {
      refuse("--threads", threads, fmt::format("is not a number from 1 to {}", cpu::most_threads));
    }
    options.threads = static_cast<int>(*value);
  }
  options.kernel = kernel;
  if (effort != "estimate" && effort != "measure") {
    refuse("--effort", effort, "is neither estimate nor measure");
  }
  options.effort = effort == "measure" ? Effort::measure : Effort::estimate;
  return options;
}

std::int64_t WorkArguments::memory_bytes() const {
  if (memory.empty()) return 0;
  const std::int64_t bytes = io::parse_size("--memory", memory);
  if (bytes == 0) {
    refuse("--memory", memory, "is too little: the least is " + io::size_text(io::least_memory));
  }
  return bytes;
}

void ValueArguments::add_to(CLI::App& command) {
  command
      .add_option("--to", to,
                  "Convert every value to this type: bf16, f16, f8_e4m3, i8, ..., \">f4\" for the "
                  "other order of bytes; or make blocks along the last axis of OUT: " +
                      format_names())
      ->type_name("TYPE");
  command
      .add_option("--from", from,
                  "Say what the elements are where the file cannot: NumPy stores bf16 and 8-bit "
                  "floats as plain bytes; or which blocks IN holds")
      ->type_name("TYPE");
  command.add_option("--scale", scale, "Multiply every value by this")->type_name("NUMBER");
  command.add_option("--bias", bias, "Add this to every value, after --scale")->type_name("NUMBER");
  command.add_flag("--saturate", saturate,
                   "Make values beyond the type's range its largest finite ones");
  command
      .add_option("--stochastic", stochastic,
                  "Round at random with this seed; the nearer neighbour is the more likely one")
      ->type_name("SEED");
}

void ScaleArguments::add_to(CLI::App& command) {
  command
      .add_option(
          "--scales", file,
          "Keep the scales of blocks in this .npy file, which --to writes and --from reads; "
          "ggml's blocks hold theirs")
      ->type_name("FILE");
  command
      .add_option("--scale-layout", layout,
                  "How the scales lie in that file; without it as torch._scaled_mm takes those of "
                  "fp8_1x128, and packed for all others")
      ->type_name("packed|padded|mn_major|mn_major_padded|packed_4|tiles_128x4");
  command
      .add_option("--scale-rule", rule,
                  "How the scale of a block follows from its largest magnitude")
      ->type_name("floor|ceil|even|exact");
  command
      .add_option("--tensor-scale", tensor_scale,
                  "The scale that all blocks of nvfp4 share, 2688 / the largest magnitude: --to "
                  "finds it where it is not given, and says it; --from needs it")
      ->type_name("NUMBER");
}

std::vector<std::pair<const char*, std::string>> ScaleArguments::given() const {
  std::vector<std::pair<const char*, std::string>> found;
  if (!file.empty()) found.emplace_back("--scales", file);
  if (!layout.empty()) found.emplace_back("--scale-layout", layout);
  if (!rule.empty()) found.emplace_back("--scale-rule", rule);
  if (!tensor_scale.empty()) found.emplace_back("--tensor-scale", tensor_scale);
  return found;
}

bool ValueArguments::any() const {
  return !to.empty() || !from.empty() || !scale.empty() || !bias.empty() || saturate ||
         !stochastic.empty();
}

namespace {

// As NumPy describes it ("'<f4'"), or named by the library ("f32")?
bool is_of_numpy(std::string_view descr) {
  return std::string_view("<>|='\"[(").find(descr.front()) != std::string_view::npos;
}

ElementType parse_value_type(const std::string& name, const std::string& text) {
  ElementType type = ElementType::bytes(1);
  try {
    type = ElementType::parse(text);
  } catch (const Error& error) {
    throw Error(error.status(), fmt::format("{} = '{}': {}", name, text, error.what()));
  }
  if (type.kind() == Kind::bytes) {
    throw Error(
        Status::unsupported,
        fmt::format("{} = '{}': plain bytes have no values that could be converted", name, text));
  }
  return type;
}

template <class Number>
Number parse_value(const std::string& name, const std::string& text) {
  std::istringstream stream(text);
  stream.imbue(std::locale::classic());
  Number value{};
  if (!(stream >> value) || !stream.eof() || text.front() == ' ' ||
      (std::is_unsigned_v<Number> && text.front() == '-')) {
    refuse(name, text, std::is_unsigned_v<Number> ? "is no number from 0" : "is no number");
  }
  return value;
}

}  // namespace

std::string ValueArguments::first() const {
  const std::pair<const char*, const std::string*> options[] = {{"--to", &to},
                                                                {"--from", &from},
                                                                {"--scale", &scale},
                                                                {"--bias", &bias},
                                                                {"--stochastic", &stochastic}};
  for (const auto& [name, text] : options) {
    if (!text->empty()) return fmt::format("{} = '{}'", name, *text);
  }
  return "--saturate";
}

ElementType ValueArguments::source_type(const std::string& descr, std::int64_t size) const {
  if (from.empty()) {
    return is_of_numpy(descr) ? io::value_type_of(descr, size, first() + ": the elements of IN")
                              : parse_value_type("--dtype", descr);
  }
  const ElementType type = parse_value_type("--from", from);
  if (type.size() != size) {
    throw Error(Status::invalid_argument,
                fmt::format("--from = '{}' has {} bytes, the elements of IN have {}", from,
                            type.size(), size));
  }
  return type;
}

ElementType ValueArguments::result_type(ElementType source) const {
  if (to.empty()) return source;
  try {
    return parse_value_type("--to", to);
  } catch (const Error& error) {
    if (error.status() != Status::invalid_argument) throw;
    throw Error(error.status(), fmt::format("{}; blocks are {}", error.what(), format_names()));
  }
}

Epilogue ValueArguments::epilogue(float& bias_storage) const {
  Epilogue epilogue;
  if (!scale.empty()) epilogue.alpha = parse_value<double>("--scale", scale);
  if (!bias.empty()) {
    bias_storage = parse_value<float>("--bias", bias);
    epilogue.bias = &bias_storage;
  }
  if (saturate) epilogue.overflow = Overflow::saturate;
  if (!stochastic.empty()) {
    epilogue.rounding = Rounding::stochastic;
    epilogue.seed = parse_value<std::uint64_t>("--stochastic", stochastic);
  }
  return epilogue;
}

DtypeArgument parse_dtype(const std::string& name, const std::string& text) {
  try {
    if (!text.empty() && is_of_numpy(text)) {
      const bool is_literal =
          std::string_view("'\"[(").find(text.front()) != std::string_view::npos;
      return {is_literal ? text : "'" + text + "'", io::dtype_size(text)};
    }
    const ElementType type = ElementType::parse(text);
    return {type.name(), type.size()};
  } catch (const Error& error) {
    throw Error(error.status(), fmt::format("{} = '{}': {}", name, text, error.what()));
  }
}

ElementType described_type(const std::string& descr, std::int64_t size) {
  return is_of_numpy(descr) ? io::element_type_of(descr, size) : ElementType::parse(descr);
}

std::string parse_device(const std::string& name, const std::string& text) {
  if (text != "cpu" && text != "gpu") refuse(name, text, "is neither cpu nor gpu");
  return text;
}

std::int64_t available_memory() {
  std::int64_t available = std::numeric_limits<std::int64_t>::max();
  if (const auto kilobytes = number_in_file("/proc/meminfo", "MemAvailable:")) {
    available = *kilobytes * 1024;
  }
  // A container's limit; what it caches of files counts as used but can be had back.
  const auto limit = number_in_file("/sys/fs/cgroup/memory.max", "");
  const auto anonymous = number_in_file("/sys/fs/cgroup/memory.stat", "anon");
  if (limit) available = std::min(available, *limit - anonymous.value_or(0));
  return std::max<std::int64_t>(available, 0);
}

}  // namespace cornerturn::cli
