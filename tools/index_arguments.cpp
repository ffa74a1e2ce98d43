#include "index_arguments.hpp"

#include <fmt/format.h>

#include <cstring>

#include "arguments.hpp"
#include "core/lists.hpp"
#include "cornerturn/error.hpp"

namespace cornerturn::cli {
namespace {

[[noreturn]] void refuse(const std::string& message) {
  throw Error(Status::invalid_argument, message);
}

int parse_axis(const std::string& text, std::size_t rank) {
  const std::vector<std::int64_t> numbers = parse_numbers("--index-axis", text);
  if (numbers.size() != 1) refuse(fmt::format("--index-axis = '{}' is not one axis", text));
  if (numbers[0] >= static_cast<std::int64_t>(rank)) {
    refuse(fmt::format("--index-axis = {} is out of range for rank {}", numbers[0], rank));
  }
  return static_cast<int>(numbers[0]);
}

}  // namespace

void IndexArguments::add_to(CLI::App& command) {
  file_option =
      command
          .add_option("--index", file,
                      "Take the entries of an axis of IN that this .npy file of 32-bit or "
                      "64-bit indices names, in its order; -1 stands for zeros")
          ->type_name("FILE");
  command
      .add_option("--index-axis", axis,
                  "Say which axis of IN the indices of --index are of (default: 0)")
      ->type_name("AXIS")
      ->needs(file_option);
}

void IndexArguments::refuse_with(const std::string& option, bool given,
                                 const std::string& why) const {
  if (!any() || !given) return;
  throw Error(Status::unsupported, fmt::format("{} does not go with --index: {}", option, why));
}

IndexFile::IndexFile(const IndexArguments& arguments, const std::vector<std::int64_t>& shape)
    : axis_(parse_axis(arguments.axis, shape.size())) {
  io::InputOptions options;
  options.argument = "--index";
  input_ = io::open_array(arguments.file, options);
  const io::NpyHeader& header = input_.header;
  const ElementType type = described_type(header.descr, header.item_size);
  if (!(type == ElementType(Kind::i32)) && !(type == ElementType(Kind::i64))) {
    refuse(fmt::format("{} holds {}: indices are '<i4' or '<i8'", input_.file.label(),
                       io::descr_text(header)));
  }
  if (header.shape.size() != 1) {
    refuse(fmt::format("{} has the shape {}: a list of indices has one axis", input_.file.label(),
                       io::shape_text(header.shape)));
  }
  table_.resize(static_cast<std::size_t>(input_.bytes));
  if (input_.in_memory()) {
    std::memcpy(table_.data(), input_.spooled.data(), table_.size());
  } else {
    input_.file.read_at(table_.data(), input_.bytes, input_.offset);
  }
  check(shape[static_cast<std::size_t>(axis_)]);
}

io::IndexList IndexFile::list() const {
  return {axis_, input_.header.item_size == 4 ? Places::i32 : Places::i64, table_.data(),
          input_.header.shape[0]};
}

void IndexFile::check(std::int64_t extent) const {
  const io::IndexList indices = list();
  for (std::int64_t k = 0; k < indices.entries; ++k) {
    const std::int64_t index = entry_of(indices.places, indices.table, k);
    if (index >= -1 && index < extent) continue;
    refuse(
        fmt::format("{}: entry {} is {}, but it has to be less than {}, the extent of axis {}, "
                    "and -1 at least",
                    input_.file.label(), k, index, extent, axis_));
  }
}

std::vector<std::int64_t> indexed_shape(std::vector<std::int64_t> shape,
                                        const io::IndexList& list) {
  shape[static_cast<std::size_t>(list.axis)] = list.entries;
  return shape;
}

}  // namespace cornerturn::cli
