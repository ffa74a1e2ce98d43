#include "api/block_calls.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>

#include "api/list_tables.hpp"
#include "core/divide.hpp"
#include "core/refuse.hpp"
#include "core/validate.hpp"

namespace cornerturn {

std::string shape_text(const Extents& shape) {
  return fmt::format("({})", fmt::join(shape, ", "));
}

namespace {

using Operand = BlockOperand;

void check_type(const Operand& argument, std::initializer_list<ElementType> allowed) {
  std::string names;
  for (const ElementType type : allowed) {
    if (argument.type == type) return;
    names += (names.empty() ? "" : " or ") + type.name();
  }
  refuse(fmt::format("{}.type = {} has to be {}", argument.name, argument.type.name(), names));
}

void check_shape(const Operand& argument, const Extents& expected) {
  if (argument.shape != expected) {
    refuse(fmt::format("{}.shape = {} has to be {}", argument.name, shape_text(argument.shape),
                       shape_text(expected)));
  }
}

// The blocks of an array of plain values along one of its axes.
struct BlocksOf {
  const BlockRow& row;
  const Operand& plain;
  int axis;
  int across;  // the axis of their lines; -1: there is none
  ScaleOrder order;

  BlocksOf(const BlockRow& of_format, const Operand& array, int along, ScaleOrder scale_order)
      : row(of_format), plain(array), axis(along), order(scale_order) {
    const auto rank = static_cast<int>(plain.shape.size());
    if (axis < 0 || axis >= rank) {
      refuse(fmt::format("axis = {} is out of range for rank {}", axis, rank));
    }
    const bool has_lines = row.across > 1 || order == ScaleOrder::tiles_128x4;
    across = !has_lines ? -1 : axis == rank - 1 ? rank - 2 : rank - 1;
    if (has_lines && rank < 2) {
      refuse(
          fmt::format("{}.shape = {} has to be that of a matrix, or of several: blocks of {} "
                      "and scales in tiles have lines",
                      plain.name, shape_text(plain.shape), row.name));
    }
  }

  static std::size_t at(int mode) { return static_cast<std::size_t>(mode); }

  void check_whole() const {
    const auto check = [&](int mode, int of_block) {
      const std::int64_t extent = plain.shape[at(mode)];
      if (extent % of_block == 0) return;
      refuse(
          fmt::format("{}.shape[{}] = {} is no multiple of {}: it is padded with zeros only where "
                      "options.pad asks for it",
                      plain.name, mode, extent, of_block));
    };
    check(axis, row.along);
    if (row.across > 1) check(across, row.across);
  }

  // In blocks.
  Extents counted() const {
    Extents shape = plain.shape;
    shape[at(axis)] = ceil_div(shape[at(axis)], std::int64_t{row.along});
    if (row.across > 1) shape[at(across)] = ceil_div(shape[at(across)], std::int64_t{row.across});
    return shape;
  }
  Extents values_shape() const {
    Extents shape = counted();
    shape[at(axis)] *= row.along / row.values_per_unit();
    if (row.across > 1) shape[at(across)] *= row.across;
    return shape;
  }
  Extents scales_shape() const { return cornerturn::scales_shape(order, counted(), axis, across); }

  BlockLayout layout(const Extents& value_strides, const Operand* scales) const {
    BlockLayout result{axis, value_strides, {}, across, order};
    if (scales == nullptr) return result;
    result.scale_strides = scales->strides;
    result.scale_strides.resize(plain.shape.size());  // not that within a tile
    return result;
  }
};

void check_real(const Operand& plain) {
  if (!is_real(plain.type.kind())) {
    throw Error(Status::unsupported,
                fmt::format("{}.type = {} has no real values: blocks hold bool, i8, ... f64, f16, "
                            "bf16, f8_e4m3 and f8_e5m2",
                            plain.name, plain.type.name()));
  }
}

// The array of which a list names entries. It refers to `view`, whose extent it changes.
template <class Void>
Operand pool_of(const char* name, BasicView<Void>& view, const List& list) {
  if (list.places == Places::pointers) {
    throw Error(Status::unsupported,
                fmt::format("{}.list.places = pointers: of blocks a list has indices", name));
  }
  if (list.places != Places::strides) {
    const auto rank = static_cast<int>(view.shape.size());
    if (list.axis < 0 || list.axis >= rank) {
      refuse(fmt::format("{}.list.axis = {} is out of range for rank {}", name, list.axis, rank));
    }
    if (list.count < 0) refuse(fmt::format("{}.list.count = {} is negative", name, list.count));
    if (list.missing != Missing::zeros) {
      throw Error(Status::unsupported,
                  fmt::format("{}.list.missing = left: blocks are made of zeros there", name));
    }
    view.shape[static_cast<std::size_t>(list.axis)] = list.count;
  }
  return {name, view};
}

// Takes the mode with the list out of the modes.
void take_list_out(BlockCall& call, const List& list) {
  if (list.places == Places::strides) return;
  const bool back = call.problem.blocks->back;
  call.problem = with_listed_axis(std::move(call.problem), list.axis, list.places);
  ListTables& tables = call.buffers.lists;
  (back ? tables.dst : tables.src) = list.table;
  (back ? tables.dst_count : tables.src_count) = list.count;
  call.pointers.push_back({back ? "dst.list.table" : "src.list.table", list.table});
}

const ElementType e4m3_type(Kind::f8_e4m3), e5m2_type(Kind::f8_e5m2), byte_type(Kind::u8);

void check_values(const BlocksOf& blocks, const Operand& values) {
  check_type(values, {type_of_blocks(blocks.row.format)});
  check_shape(values, blocks.values_shape());
}

void check_scales(const BlocksOf& blocks, const Operand& scales) {
  if (blocks.order != ScaleOrder::strided && blocks.row.scale_bytes() != 1) {
    refuse(fmt::format("options.scale_order: scales of {} are f32, which have to be strided",
                       blocks.row.name));
  }
  switch (blocks.order) {
    case ScaleOrder::packed_4:
      check_type(scales, {ElementType::bytes(4), ElementType(Kind::i32), ElementType(Kind::u32)});
      break;
    case ScaleOrder::tiles_128x4:
      check_type(scales, {byte_type});
      break;
    case ScaleOrder::strided:
      if (blocks.row.scale == ScaleType::f32) {
        check_type(scales, {ElementType(Kind::f32)});
      } else if (blocks.row.scale == ScaleType::e4m3) {
        check_type(scales, {e4m3_type, byte_type});
      } else {
        check_type(scales, {byte_type});
      }
  }
  check_shape(scales, blocks.scales_shape());
  if (blocks.order == ScaleOrder::tiles_128x4 && scales.strides.back() != 1) {
    refuse(fmt::format("{}.strides[{}] = {}: the 512 bytes of a tile have to follow each other",
                       scales.name, scales.strides.size() - 1, scales.strides.back()));
  }
}

BlockRule rule_of(const BlockRow& row, const BlockOptions& options) {
  const BlockScale scale = options.scale.value_or(row.standard_rule());
  if (row.has_scales() && !row.takes(scale)) {
    static constexpr const char* names[] = {"floor", "ceil", "even", "exact"};
    std::string taken;
    for (int i = 0; i < 4; ++i) {
      if (!row.takes(static_cast<BlockScale>(i))) continue;
      taken += std::string(taken.empty() ? "" : " or ") + names[i];
    }
    refuse(fmt::format("options.scale = {} is no rule for the scales of {}: use {}",
                       names[static_cast<int>(scale)], row.name, taken));
  }
  if (options.rounding != Rounding::nearest_even && !row.has_scales()) {
    refuse(fmt::format("options.rounding: {} is rounded to the nearest value", row.name));
  }
  return {row.format, row.has_scales() ? scale : BlockScale::floor, options.rounding,
          options.rounding == Rounding::stochastic ? options.seed : 0};
}

void check_tensor_scale(const BlockRow& row, const BlockOptions& options) {
  if (row.scale == ScaleType::e4m3 && options.tensor_scale <= 0) {
    refuse(fmt::format("options.tensor_scale = {} has to be positive", options.tensor_scale));
  }
}

}  // namespace

// Ranks, strides, offsets and pointers as well: as a copy checks them.
void check_memory(const Operand& written, const Operand& read) {
  const auto dense = [](const Operand& a) {
    return ConstView(a.data, ElementType::bytes(a.type.size()), a.shape, a.strides);
  };
  // Each side by itself, against a packed array of its shape.
  const ElementType type = ElementType::bytes(written.type.size());
  Problem to = make_problem(View(nullptr, type, written.shape, written.strides),
                            ConstView(nullptr, type, written.shape));
  const ConstView source = dense(read);
  Problem from = make_problem(View(nullptr, source.type, read.shape), source);
  if (from.elements() == 0 || to.elements() == 0) return;
  if (written.data == nullptr || read.data == nullptr) return;  // a plan needs none
  const Reach target = dst_reach(to);
  const Reach origin = src_reach(from);
  const auto at = [](const void* base, std::int64_t offset) {
    return reinterpret_cast<std::uintptr_t>(base) + static_cast<std::uintptr_t>(offset);
  };
  if (at(written.data, target.low) < at(read.data, origin.high) &&
      at(read.data, origin.low) < at(written.data, target.high)) {
    refuse(fmt::format("{} overlaps {} in memory", written.name, read.name));
  }
}

Extents scales_shape(ScaleOrder order, Extents blocks, int axis, int across) {
  if (order == ScaleOrder::strided) return blocks;
  std::int64_t& along = blocks[static_cast<std::size_t>(axis)];
  along = ceil_div(along, std::int64_t{4});
  if (order == ScaleOrder::packed_4) return blocks;
  std::int64_t& lines = blocks[static_cast<std::size_t>(across)];
  lines = ceil_div(lines, std::int64_t{128});
  blocks.push_back(512);
  return blocks;
}

GroupShapes group_shapes(const BlockRow& row, const Extents& plain, int axis, ScaleOrder order) {
  const ConstView group(nullptr, ElementType(Kind::f32), plain);
  const Operand operand("src", group);
  const BlocksOf blocks(row, operand, axis, order);
  return {blocks.values_shape(), blocks.scales_shape()};
}

void check_stored(const Operand& values, const Operand& scales, const BlockRow& row,
                  const Extents& shape) {
  const ConstView plain(nullptr, ElementType(Kind::f32), shape);
  const Operand operand("src", plain);
  const BlocksOf blocks(row, operand, 1, ScaleOrder::strided);
  check_values(blocks, values);
  check_scales(blocks, scales);
}

BlockCall block_call(BlockFormat format, const Operand& plain, const Operand& values,
                     const Operand* scales, int axis, bool back, const BlockOptions& options,
                     const List& list) {
  const BlockRow& row = row_of(format);
  ConstView reached(plain.data, plain.type, plain.shape, plain.strides);
  const Operand pool = pool_of(plain.name, reached, list);
  if ((scales != nullptr) != row.has_scales()) {
    refuse(scales == nullptr
               ? fmt::format("scales = null: {} has an array of scales", row.name)
               : fmt::format("scales are given: those of {} are inside its blocks", row.name));
  }
  const BlocksOf blocks(row, plain, axis,
                        row.has_scales() ? options.scale_order : ScaleOrder::strided);
  if (!back && !options.pad) blocks.check_whole();
  check_real(plain);
  check_values(blocks, values);
  check_tensor_scale(row, options);
  back ? check_memory(pool, values) : check_memory(values, pool);
  Blocks how;
  how.rule = back ? BlockRule{format, row.standard_rule()} : rule_of(row, options);
  how.back = back;
  how.first = blocks.layout(values.strides, scales);
  Buffers buffers{values.data, plain.data};
  if (back) buffers = {plain.data, values.data};
  std::vector<NamedPointer> pointers{{plain.name, plain.data}, {values.name, values.data}};
  if (scales != nullptr) {
    check_scales(blocks, *scales);
    if (back) {
      check_memory(pool, *scales);
    } else {
      check_memory(*scales, pool);
      check_memory(*scales, values);
    }
    buffers.blocks.scales = scales->data;
    buffers.blocks.tensor_scale = options.tensor_scale;
    pointers.push_back({scales->name, scales->data});
  }
  BlockCall call{block_problem(plain.type, plain.shape, plain.strides, how), buffers,
                 std::move(pointers), plain};
  take_list_out(call, list);
  return call;
}

BlockCall both_call(BlockFormat format, const BothCopies& copies, const ConstListedView& listed,
                    const BlockOptions& options) {
  const BlockRow& row = row_of(format);
  const ConstView& src = listed.view;
  const Operand plain("src", src);
  ConstView reached = src;
  const Operand pool = pool_of("src", reached, listed.list);
  if (src.shape.size() != 2) {
    refuse(fmt::format("src.shape = {} has to be that of a matrix", shape_text(src.shape)));
  }
  if (!row.has_scales()) {
    refuse(fmt::format("format = {}: both copies have arrays of scales", row.name));
  }
  const ConstView transposed = src.permuted({1, 0});
  const Operand plain_transposed("src (transposed)", transposed);
  const BlocksOf of_rows(row, plain, 1, options.scale_order);
  const BlocksOf of_columns(row, plain_transposed, 1, options.scale_order);
  for (const BlocksOf* blocks : {&of_rows, &of_columns}) {
    if (!options.pad) blocks->check_whole();
    check_real(blocks->plain);
    check_values(*blocks, blocks == &of_rows ? copies.rows : copies.columns);
    check_scales(*blocks, blocks == &of_rows ? copies.row_scales : copies.column_scales);
  }
  check_tensor_scale(row, options);
  const Operand* written[] = {&copies.rows, &copies.row_scales, &copies.columns,
                              &copies.column_scales};
  std::vector<NamedPointer> pointers{{plain.name, plain.data}};
  for (const Operand* a : written) {
    check_memory(*a, pool);
    for (const Operand* b : written) {
      if (a < b) check_memory(*a, *b);
    }
    pointers.push_back({a->name, a->data});
  }
  Blocks how;
  how.rule = rule_of(row, options);
  how.first = of_rows.layout(copies.rows.strides, &copies.row_scales);
  BlockLayout second = of_columns.layout(copies.columns.strides, &copies.column_scales);
  second.axis = 0;
  if (second.across >= 0) second.across = 1;
  // The transpose, seen from the matrix.
  std::swap(second.value_strides[0], second.value_strides[1]);
  std::swap(second.scale_strides[0], second.scale_strides[1]);
  how.second = std::move(second);
  Buffers buffers{copies.rows.data, src.data};
  buffers.blocks = {copies.row_scales.data, copies.columns.data, copies.column_scales.data,
                    options.tensor_scale};
  BlockCall call{block_problem(src.type, src.shape, src.strides, how), buffers, std::move(pointers),
                 plain};
  take_list_out(call, listed.list);
  return call;
}

void check_entries(const BlockCall& call, bool on_gpu, const Options& options) {
  if (!looks_at_entries(on_gpu, options)) return;
  // The plain values alone: what else there is lies apart from all that a list may name.
  Problem entries = call.problem;
  const bool back = entries.blocks->back;
  std::byte apart{};
  Buffers buffers = call.buffers;
  ListMode mode = entries.lists->modes.front();
  (back ? mode.src : mode.dst).stride = 0;
  for (Mode& one : entries.modes) (back ? one.src_stride : one.dst_stride) = 0;
  if (back) {
    buffers.src = &apart;
  } else {
    buffers.dst = &apart;
  }
  entries.blocks = nullptr;
  (back ? entries.src_type : entries.dst_type) = byte_type;
  entries.lists = std::make_shared<const Lists>(Lists{{mode}, Missing::zeros});
  on_gpu ? check_tables_of_gpu(entries, buffers, options) : check_tables(entries, buffers, true);
}

BlockFormat mxfp8_of(const Operand& values) {
  check_type(values, {e4m3_type, e5m2_type});
  return values.type == e4m3_type ? BlockFormat::mxfp8_e4m3 : BlockFormat::mxfp8_e5m2;
}

}  // namespace cornerturn
