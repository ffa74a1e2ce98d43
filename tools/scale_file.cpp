#include "scale_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "core/divide.hpp"
#include "cornerturn/cornerturn.hpp"
#include "io/npy_dtype.hpp"
#include "io/rearrange_blocks.hpp"

namespace cornerturn::cli {
namespace {

constexpr std::array layouts = {"packed",          "padded",   "mn_major",
                                "mn_major_padded", "packed_4", "tiles_128x4"};

[[noreturn]] void refuse(const std::string& layout, const std::string& rule) {
  throw Error(Status::invalid_argument, fmt::format("--scale-layout = '{}': {}", layout, rule));
}

std::int64_t up(std::int64_t count, std::int64_t multiple) {
  return ceil_div(count, multiple) * multiple;
}

}  // namespace

ScaleFile::ScaleFile(const BlockRow& row, const std::string& layout, Extents blocks)
    : row_(&row), layout_(layout), blocks_(std::move(blocks)) {
  const bool is_matrix = blocks_.size() == 2;
  if (layout.empty()) {
    const bool in_columns = is_matrix && row.scale == ScaleType::f32 && row.across == 1;
    layout_ = in_columns ? "mn_major" : "packed";
    return;
  }
  if (std::find(layouts.begin(), layouts.end(), layout) == layouts.end()) {
    refuse(layout, fmt::format("it is none of {}", fmt::join(layouts, ", ")));
  }
  const bool of_bytes = order() != ScaleOrder::strided;
  if (of_bytes && row.scale_bytes() != 1) {
    refuse(layout, fmt::format("scales of {} are f32, not bytes", row.name));
  }
  const bool fits = layout == "packed" || layout == "padded" || is_matrix ||
                    (layout == "tiles_128x4" && blocks_.size() > 2);
  if (!fits) {
    refuse(layout,
           fmt::format("it is one for matrices, and here the blocks have {} axes", blocks_.size()));
  }
}

bool ScaleFile::is_in_columns() const {
  return layout_ == "mn_major" || layout_ == "mn_major_padded" || layout_ == "packed_4";
}

ScaleOrder ScaleFile::order() const {
  if (layout_ == "packed_4") return ScaleOrder::packed_4;
  return layout_ == "tiles_128x4" ? ScaleOrder::tiles_128x4 : ScaleOrder::strided;
}

io::NpyHeader ScaleFile::header() const {
  io::NpyHeader header;
  const ElementType type = layout_ == "packed_4" ? ElementType(Kind::i32) : io::scales_type(*row_);
  header.descr = io::descr_of(type);
  header.item_size = type.size();
  header.shape = blocks_;
  header.fortran_order = is_in_columns();
  std::int64_t& count = header.shape.back();
  if (layout_ == "padded") count = up(count, 4);
  if (layout_ == "packed_4") count = ceil_div(count, std::int64_t{4});
  if (layout_ == "packed_4" || layout_ == "mn_major_padded") {
    header.shape[0] = up(header.shape[0], 4);
  }
  if (layout_ == "tiles_128x4") {
    const std::int64_t tiles = tiled_scale_bytes(header.shape.end()[-2], count);
    header.shape.pop_back();
    header.shape.back() = tiles;
  }
  return header;
}

std::int64_t ScaleFile::packed_bytes() const {
  return io::array_bytes(blocks_, row_->scale_bytes());
}

View ScaleFile::stored_view(std::byte* stored, bool fortran_order) const {
  const io::NpyHeader file = header();
  const ElementType type = layout_ == "packed_4" ? ElementType(Kind::i32) : io::scales_type(*row_);
  if (layout_ == "tiles_128x4") {
    Extents shape = blocks_;
    shape.end()[-2] = ceil_div(shape.end()[-2], std::int64_t{128});
    shape.back() = ceil_div(shape.back(), std::int64_t{4});
    shape.push_back(512);
    return {stored, type, shape};
  }
  Extents strides = packed_strides(file.shape, type.size());
  if (fortran_order) {
    const Extents reversed(file.shape.rbegin(), file.shape.rend());
    strides = packed_strides(reversed, type.size());
    std::reverse(strides.begin(), strides.end());
  }
  Extents shape = blocks_;
  if (layout_ == "packed_4") shape.back() = file.shape.back();
  return {stored, type, shape, strides};
}

View ScaleFile::packed_view(std::byte* packed) const {
  return {packed, io::scales_type(*row_), blocks_};
}

io::Buffer ScaleFile::from_packed(const std::byte* packed) const {
  const io::NpyHeader file = header();
  io::Buffer stored(io::array_bytes(file.shape, file.item_size));
  std::fill_n(stored.data(), stored.size(), std::byte{0});
  convert_scales(stored_view(stored.data(), file.fortran_order), order(),
                 packed_view(const_cast<std::byte*>(packed)), ScaleOrder::strided, blocks_);
  return stored;
}

io::Buffer ScaleFile::to_packed(const std::byte* stored, bool fortran_order) const {
  io::Buffer packed(packed_bytes());
  convert_scales(packed_view(packed.data()), ScaleOrder::strided,
                 stored_view(const_cast<std::byte*>(stored), fortran_order), order(), blocks_);
  return packed;
}

}  // namespace cornerturn::cli
