#include "block_arguments.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "cornerturn/blocks.hpp"
#include "cornerturn/error.hpp"

namespace cornerturn::cli {
namespace {

const BlockRow* row_named(const std::string& name) {
  const auto* const found = std::find_if(std::begin(block_rows), std::end(block_rows),
                                         [&](const BlockRow& row) { return row.name == name; });
  return found == std::end(block_rows) ? nullptr : found;
}

// Elements of the array of values in a file that a block takes along the last axis.
std::int64_t elements_of_block(const BlockRow& row) {
  return row.along / row.values_per_unit() * row.unit_bytes();
}

[[noreturn]] void refuse(const std::string& message) {
  throw Error(Status::invalid_argument, message);
}

// As the file says, whatever --from and --to say of it.
ElementType element_of(const io::NpyHeader& header) {
  return described_type(header.descr, header.item_size);
}

}  // namespace

bool has_blocks(const ValueArguments& values) {
  return row_named(values.to) != nullptr || is_from_blocks(values);
}

bool is_from_blocks(const ValueArguments& values) {
  return row_named(values.from) != nullptr;
}

void refuse_pad(bool pad) {
  if (pad) refuse("--pad: it belongs to --to q8_0, ..., whose blocks it fills");
}

BlockArguments::BlockArguments(const ValueArguments& values, bool pad)
    : values_(values),
      pad_(pad),
      back_(is_from_blocks(values)),
      row_(*row_named(back_ ? values.from : values.to)) {
  if (back_ && row_named(values.to) != nullptr) {
    refuse(fmt::format("--from {} with --to {}: values become blocks, or blocks values",
                       values.from, values.to));
  }
  const std::pair<const char*, bool> others[] = {{"--scale", !values.scale.empty()},
                                                 {"--bias", !values.bias.empty()},
                                                 {"--saturate", values.saturate},
                                                 {"--stochastic", !values.stochastic.empty()}};
  for (const auto& [name, given] : others) {
    if (given) {
      throw Error(Status::unsupported, fmt::format("{}: {} does not go with it", option(), name));
    }
  }
  if (pad && back_) refuse("--pad: it belongs to --to, where values become blocks");
}

std::string BlockArguments::option() const {
  return fmt::format("{} {}", back_ ? "--from" : "--to", row_.name);
}

void BlockArguments::check(const io::NpyHeader& header, const std::string& label,
                           const std::vector<int>& order) const {
  if (header.shape.empty()) refuse(option() + ": an array of no axes has no blocks");
  if (row_.across > 1 && header.shape.size() < 2) {
    refuse(
        fmt::format("{}: {} has one axis, and a block has {} lines", option(), label, row_.across));
  }
  if (back_) return check_stored(header, label);
  if (pad_) return;
  const Extents shape = permuted(header.shape, order);
  const auto check_whole = [&](std::int64_t extent, int of_block, const char* axis,
                               const char* what) {
    if (extent % of_block == 0) return;
    refuse(
        fmt::format("{}: the {} axis of OUT has {} values, no multiple of {}: --pad fills the "
                    "last block of a {} with zeros",
                    option(), axis, extent, of_block, what));
  };
  check_whole(shape.back(), row_.along, "last", "row");
  if (row_.across > 1) check_whole(*(shape.end() - 2), row_.across, "last but one", "column");
}

void BlockArguments::check_stored(const io::NpyHeader& header, const std::string& label) const {
  const bool is_f8 = row_.element == BlockElement::e4m3 || row_.element == BlockElement::e5m2;
  const bool fits = header.item_size == 1 && (is_f8 || element_of(header) == ElementType(Kind::u8));
  if (!fits) {
    refuse(fmt::format("{} holds {}: {} is stored as {}", label, io::descr_text(header), row_.name,
                       is_f8 ? "elements of one byte" : "'|u1'"));
  }
  const auto check_whole = [&](std::int64_t extent, std::int64_t of_block, const char* axis) {
    if (extent % of_block == 0) return;
    refuse(fmt::format("{}: its {} axis of {} is no multiple of {}, a block of {}", label, axis,
                       extent, of_block, row_.name));
  };
  check_whole(header.shape.back(), elements_of_block(row_), "last");
  if (row_.across > 1) check_whole(*(header.shape.end() - 2), row_.across, "last but one");
  if (!row_.has_scales() && header.fortran_order && header.shape.size() > 1) {
    refuse(fmt::format("{} is in Fortran order: the bytes of a block have to follow one another",
                       label));
  }
}

Extents BlockArguments::blocks_shape(const io::NpyHeader& header) const {
  Extents shape = header.shape;
  shape.back() /= elements_of_block(row_);
  if (row_.across > 1) *(shape.end() - 2) /= row_.across;
  return shape;
}

io::BlockTask BlockArguments::task(const io::NpyHeader& header, const std::vector<int>& order,
                                   bool scales_fortran_order) const {
  const io::FileOrder file{header.fortran_order, order};
  if (back_) {
    return io::task_from_blocks(row_.format, values_.result_type(ElementType(Kind::f32)),
                                blocks_shape(header), file, scales_fortran_order);
  }
  return io::task_to_blocks(row_.format, values_.source_type(header.descr, header.item_size),
                            header.shape, file);
}

}  // namespace cornerturn::cli
