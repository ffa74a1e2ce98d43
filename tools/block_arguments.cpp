#include "block_arguments.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "cornerturn/blocks.hpp"
#include "cornerturn/error.hpp"

namespace cornerturn::cli {
namespace {

constexpr std::array formats = {StoredFormat{"q8_0", Kind::u8, q8_0_bytes, false},
                                StoredFormat{"mxfp8_e4m3", Kind::f8_e4m3, block_values, true},
                                StoredFormat{"mxfp8_e5m2", Kind::f8_e5m2, block_values, true}};

const StoredFormat* format_named(const std::string& name) {
  const auto* found = std::find_if(formats.begin(), formats.end(),
                                   [&](const StoredFormat& format) { return name == format.name; });
  return found == formats.end() ? nullptr : found;
}

[[noreturn]] void refuse(const std::string& message) {
  throw Error(Status::invalid_argument, message);
}

// As the file says, whatever --from and --to say of it.
ElementType element_of(const io::NpyHeader& header) {
  return described_type(header.descr, header.item_size);
}

}  // namespace

ElementType StoredFormat::stored() const {
  return has_scales ? ElementType(element) : ElementType::bytes(q8_0_bytes);
}

bool has_blocks(const ValueArguments& values) {
  return format_named(values.to) != nullptr || is_from_blocks(values);
}

bool is_from_blocks(const ValueArguments& values) {
  return format_named(values.from) != nullptr;
}

void refuse_pad(bool pad) {
  if (pad) refuse("--pad: it belongs to --to q8_0, ..., whose blocks it fills");
}

BlockArguments::BlockArguments(const ValueArguments& values, bool pad)
    : values_(values),
      pad_(pad),
      back_(is_from_blocks(values)),
      format_(*format_named(back_ ? values.from : values.to)) {
  if (back_ && format_named(values.to) != nullptr) {
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
  return fmt::format("{} {}", back_ ? "--from" : "--to", format_.name);
}

void BlockArguments::check(const io::NpyHeader& header, const std::string& label,
                           const std::vector<int>& order) const {
  if (header.shape.empty()) refuse(option() + ": an array of no axes has no blocks");
  if (back_) return check_stored(header, label);
  const std::int64_t extent = permuted(header.shape, order).back();
  if (extent % block_values != 0 && !pad_) {
    refuse(
        fmt::format("{}: the last axis of OUT has {} values, no multiple of {}: --pad fills "
                    "the last block of a row with zeros",
                    option(), extent, block_values));
  }
}

void BlockArguments::check_stored(const io::NpyHeader& header, const std::string& label) const {
  const bool fits = header.item_size == 1 &&
                    (format_.has_scales || element_of(header) == ElementType(format_.element));
  if (!fits) {
    refuse(fmt::format("{} holds {}: {} is stored as {}", label, io::descr_text(header),
                       format_.name, format_.has_scales ? "elements of one byte" : "'|u1'"));
  }
  const std::int64_t extent = header.shape.back();
  if (extent % format_.per_block != 0) {
    refuse(fmt::format("{}: its last axis of {} is no multiple of {}, a block of {}", label, extent,
                       format_.per_block, format_.name));
  }
  if (!format_.has_scales && header.fortran_order && header.shape.size() > 1) {
    refuse(fmt::format("{} is in Fortran order: the bytes of a block have to follow one another",
                       label));
  }
}

Extents BlockArguments::scales_shape(const io::NpyHeader& header) const {
  Extents shape = header.shape;
  shape.back() /= format_.per_block;
  return shape;
}

io::BlockTask BlockArguments::task(const io::NpyHeader& header, const std::vector<int>& order,
                                   bool scales_fortran_order) const {
  const io::FileOrder file{header.fortran_order, order};
  if (back_) {
    return io::task_from_blocks(format_.stored(), values_.result_type(ElementType(Kind::f32)),
                                scales_shape(header), file, scales_fortran_order);
  }
  return io::task_to_blocks(format_.stored(), values_.source_type(header.descr, header.item_size),
                            header.shape, file);
}

}  // namespace cornerturn::cli
