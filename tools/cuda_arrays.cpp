#include "cuda_arrays.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <vector>

#include "cornerturn/error.hpp"
#include "files/output_file.hpp"
#include "io/array_file.hpp"
#include "io/npy_dtype.hpp"

namespace cornerturn::cli {
namespace {

namespace fs = std::filesystem;
namespace front = cornerturn::cuda_source;
using Json = nlohmann::ordered_json;

constexpr std::int64_t copied_at_a_time = std::int64_t{4} << 20;

[[noreturn]] void refuse_file(const io::InputArray& input, const std::string& why) {
  throw Error(Status::invalid_argument, fmt::format("{}: {}", input.file.label(), why));
}

// The type that was asked for, if any, has to be the file's own. Types that
// NumPy does not know are in files as plain bytes, or as whole numbers of their
// size.
std::string type_of(const io::InputArray& input, const std::string& wanted) {
  const io::NpyHeader& header = input.header;
  const std::string descr = io::descr_text(header);
  const bool fits = header.item_size >= 1 && header.item_size <= ElementType::max_size;
  const ElementType type =
      fits ? io::element_type_of(header.descr, header.item_size) : ElementType::bytes(1);
  if (type.is_swapped()) {
    refuse_file(
        input, fmt::format("its elements, {}, have to be in this machine's order of bytes", descr));
  }
  if (wanted.empty()) {
    if (!fits || type.kind() == Kind::bytes) {
      refuse_file(
          input,
          fmt::format("its elements are {}: name their type, as in bf16[64]=FILE.npy", descr));
    }
    return type.name();
  }
  const ElementType asked = ElementType::parse(wanted);
  const bool is_raw = type.kind() == Kind::bytes || type.kind() == Kind::u8 ||
                      type.kind() == Kind::u16 || type.kind() == Kind::u32 ||
                      type.kind() == Kind::u64;
  if (!fits || (type != asked && !(is_raw && type.size() == asked.size()))) {
    refuse_file(input, fmt::format("its elements are {}, not {}", descr, wanted));
  }
  return wanted;
}

void find_array_file(front::Argument& argument, std::size_t number, const TemporaryFolder& folder) {
  io::InputOptions options;
  options.argument = "--arg";
  const io::InputArray input = io::open_array(argument.path, options);
  const std::vector<std::int64_t>& shape = input.header.shape;
  argument.type = type_of(input, argument.type);
  if (input.header.fortran_order && shape.size() > 1) {
    refuse_file(input,
                "its first axis is the fastest (Fortran's order), and "
                "kernels are given rows");
  }
  if (!argument.extents.empty() && argument.extents != shape) {
    refuse_file(input, fmt::format("its shape is {}, not {}", io::shape_text(shape),
                                   io::shape_text(argument.extents)));
  }
  argument.extents = shape;
  front::require_array(argument, argument.path);
  argument.offset = input.offset;
  if (input.in_memory()) {
    argument.path = folder.file(fmt::format("arg{}.in", number));
    argument.offset = 0;
    std::ofstream(argument.path, std::ios::binary)
        .write(reinterpret_cast<const char*>(input.spooled.data()), input.bytes);
  }
  argument.path = fs::absolute(argument.path).string();
}

// One array that is to be written.
struct Saved {
  std::string name;  ///< "arg1"
  std::string type;  ///< "f32"; "none" for a result that is nothing
  std::vector<std::int64_t> shape;
  std::string raw;  ///< the file with its elements
};

std::vector<Saved> saved_arguments(const front::Request& request) {
  std::vector<Saved> all;
  for (std::size_t i = 0; i < request.arguments.size(); ++i) {
    const front::Argument& argument = request.arguments[i];
    const std::string name = fmt::format("arg{}", i);
    const std::string raw = request.results + "/" + name;
    if (argument.is_array && fs::exists(raw))
      all.push_back({name, argument.type, argument.extents, raw});
  }
  return all;
}

std::vector<Saved> saved_results(const front::Request& request) {
  std::vector<Saved> all;
  std::ifstream list(request.results + "/results");
  std::string line;
  const bool is_one = std::getline(list, line) && line == "one";
  while (std::getline(list, line)) {
    std::istringstream words(line);
    Saved one;
    words >> one.type;
    for (std::int64_t extent = 0; words >> extent;) one.shape.push_back(extent);
    one.name = is_one ? "result" : fmt::format("result{}", all.size());
    one.raw = fmt::format("{}/result{}", request.results, all.size());
    all.push_back(std::move(one));
  }
  return all;
}

void write_array(const Saved& saved, const files::File& to) {
  const ElementType type = ElementType::parse(saved.type);
  io::NpyHeader header;
  header.descr = io::descr_of(type);
  header.item_size = type.size();
  header.shape = saved.shape;
  const std::string head = io::format_npy_header(header);
  to.write(head.data(), static_cast<std::int64_t>(head.size()));
  const files::File from = files::open_input(saved.raw, "--save");
  std::vector<char> piece(static_cast<std::size_t>(copied_at_a_time));
  std::int64_t count = 0;
  while ((count = from.read_some(piece.data(), copied_at_a_time)) > 0)
    to.write(piece.data(), count);
}

}  // namespace

void find_array_files(front::Request& request, const TemporaryFolder& folder) {
  for (std::size_t i = 0; i < request.arguments.size(); ++i) {
    if (!request.arguments[i].path.empty()) find_array_file(request.arguments[i], i, folder);
  }
}

void require_empty(const std::string& path) {
  std::error_code ignored;
  if (path.empty() || (fs::exists(path, ignored) &&
                       !(fs::is_directory(path, ignored) && fs::is_empty(path, ignored)))) {
    throw Error(Status::invalid_argument, fmt::format("{} is there, and is no empty folder",
                                                      files::label_of("--save", path)));
  }
}

Json save_arrays(const front::Request& request, const std::string& path) {
  std::vector<Saved> all = saved_arguments(request);
  const std::vector<Saved> results = saved_results(request);
  all.insert(all.end(), results.begin(), results.end());
  if (all.empty()) return Json::array();
  std::error_code error;
  fs::create_directories(path, error);
  if (error) {
    throw Error(Status::io_error,
                fmt::format("{}: {}", files::label_of("--save", path), error.message()));
  }
  Json list = Json::array();
  std::vector<std::unique_ptr<files::OutputFile>> outputs;
  std::vector<files::OutputFile*> pointers;
  for (const Saved& saved : all) {
    Json one = {{"name", saved.name}, {"type", saved.type}, {"shape", saved.shape}};
    if (saved.type != "none") {
      const std::string file = (fs::path(path) / (saved.name + ".npy")).string();
      const auto bytes = static_cast<std::int64_t>(fs::file_size(saved.raw));
      outputs.push_back(
          std::make_unique<files::OutputFile>(file, bytes, "--save", files::Sync::no));
      pointers.push_back(outputs.back().get());
      write_array(saved, outputs.back()->file());
      one["file"] = file;
    }
    list.push_back(std::move(one));
  }
  files::OutputFile::commit(pointers);
  return list;
}

}  // namespace cornerturn::cli
