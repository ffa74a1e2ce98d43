// The public functions beside those that quantise: scales in another order, blocks as they are
// stored, groups.
#include "cornerturn/casts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <numeric>
#include <optional>
#include <span>

#include "api/block_calls.hpp"
#include "api/target.hpp"
#include "core/blocks.hpp"
#include "core/divide.hpp"
#include "core/refuse.hpp"
#include "cornerturn/cornerturn.hpp"
#include "cpu/transpose_lines.hpp"
#include "values/blocks.hpp"

namespace cornerturn {
namespace {

// Some of the indices of an axis, as `count` units of `unit` indices each.
struct Units {
  std::int64_t first;
  std::int64_t unit;
  std::int64_t count;
};

// The indices from `first` on and before `last`, in units that begin at their own multiples;
// `sizes` are those that there are, descending to 1.
std::vector<Units> in_units(std::int64_t first, std::int64_t last,
                            std::span<const std::int64_t> sizes) {
  std::vector<Units> found;
  while (first < last) {
    std::size_t s = 0;
    while (first % sizes[s] != 0 || first + sizes[s] > last) ++s;
    std::int64_t end = last - (last - first) % sizes[s];
    if (s > 0 && first % sizes[s - 1] != 0) {
      end = std::min(end, ceil_div(first, sizes[s - 1]) * sizes[s - 1]);
    }
    found.push_back({first, sizes[s], (end - first) / sizes[s]});
    first = end;
  }
  return found;
}

constexpr std::int64_t line_units[] = {128, 32, 1};
constexpr std::int64_t scale_units[] = {4, 1};

// The scales of a matrix, or of several, where they lie.
struct Scales {
  std::byte* data;
  ScaleOrder order;
  int bytes;        // of a scale
  Extents strides;  // of the matrices, of lines (or tiles), of scales (or fours)

  Scales(void* start, const Extents& of_view, ScaleOrder in_order, int of_scale, std::size_t rank)
      : data(static_cast<std::byte*>(start)), order(in_order), bytes(of_scale), strides(of_view) {
    strides.resize(rank);
  }

  std::int64_t place(std::int64_t line, std::int64_t scale) const {
    return values::scale_place(order, bytes, line, scale, strides.end()[-2], strides.back());
  }
  // Strides within units: a line's 128, 32 and 1, then a scale's 4 and 1.
  Extents unit_strides() const {
    Extents found(strides.begin(), strides.end() - 2);
    for (const std::int64_t unit : line_units) found.push_back(place(unit, 0));
    for (const std::int64_t unit : scale_units) found.push_back(place(0, unit));
    return found;
  }
};

// Visits parts of the rectangle of lines and scales that have a stride along each of their axes in
// every order: visit(shape of all, first line, first scale).
template <class Visit>
void for_parts(const Extents& matrices, const Units& line, const Units& scale, const Visit& visit) {
  Extents shape = matrices;
  const auto add = [&](const Units& units, std::span<const std::int64_t> sizes) {
    std::int64_t above = 0;  // indices in a unit of the size before
    for (const std::int64_t size : sizes) {
      shape.push_back(size == units.unit ? units.count : size > units.unit ? 1 : above / size);
      above = size;
    }
  };
  add(line, line_units);
  add(scale, scale_units);
  visit(shape, line.first, scale.first);
}

struct Range {
  std::int64_t first, last;
};

template <class Visit>
void for_parts(const Extents& matrices, Range lines, Range scales, const Visit& visit) {
  for (const Units& line : in_units(lines.first, lines.last, line_units)) {
    for (const Units& scale : in_units(scales.first, scales.last, scale_units)) {
      for_parts(matrices, line, scale, visit);
    }
  }
}

template <class Void>
void check_scales(const char* name, const BasicView<Void>& view, ScaleOrder order,
                  const Extents& shape, bool bytes) {
  const auto rank = static_cast<int>(shape.size());
  const Extents expected = scales_shape(order, shape, rank - 1, rank - 2);
  if (view.shape != expected) {
    refuse(fmt::format("{}.shape = {} has to be {}", name, shape_text(view.shape),
                       shape_text(expected)));
  }
  const int size = order == ScaleOrder::packed_4 ? 4 : bytes ? 1 : view.type.size();
  if (view.type.size() != size) {
    refuse(fmt::format(
        "{}.type = {} has {} bytes, and {}", name, view.type.name(), view.type.size(),
        size == 4 ? "four scales of a byte have 4" : "scales in fours and tiles are bytes"));
  }
  if (order == ScaleOrder::tiles_128x4 && view.strides.back() != 1) {
    refuse(fmt::format("{}.strides[{}] = {}: the 512 bytes of a tile have to follow each other",
                       name, view.strides.size() - 1, view.strides.back()));
  }
}

}  // namespace

void convert_scales(const View& dst, ScaleOrder to, const ConstView& src, ScaleOrder from,
                    const Extents& shape, const Options& options) {
  if (shape.size() < 2) {
    refuse(fmt::format("shape = {} has to have lines, and scales of a line", shape_text(shape)));
  }
  const bool bytes = to != ScaleOrder::strided || from != ScaleOrder::strided;
  check_scales("dst", dst, to, shape, bytes);
  check_scales("src", src, from, shape, bytes);
  if (!bytes) {
    if (dst.type != src.type) {
      refuse(fmt::format("dst.type = {} has to be {}, as src.type is", dst.type.name(),
                         src.type.name()));
    }
    return copy(dst, src, options);
  }
  check_memory({"dst", dst}, {"src", src});
  const Scales target(dst.data, dst.strides, to, 1, shape.size());
  const Scales source(const_cast<void*>(src.data), src.strides, from, 1, shape.size());
  const ElementType byte(Kind::u8);
  const Extents matrices(shape.begin(), shape.end() - 2);
  const std::int64_t lines = shape.end()[-2], scales = shape.back();
  if (std::count(shape.begin(), shape.end(), 0) > 0) return;
  for_parts(
      matrices, Range{0, lines}, Range{0, scales},
      [&](const Extents& part, std::int64_t line, std::int64_t scale) {
        copy(View(target.data + target.place(line, scale), byte, part, target.unit_strides()),
             ConstView(source.data + source.place(line, scale), byte, part, source.unit_strides()),
             options);
      });
  if (to == ScaleOrder::strided) return;
  // A byte that is there, times 0.
  Epilogue nothing;
  nothing.alpha = 0;
  const auto clear = [&](const Extents& part, std::int64_t line, std::int64_t scale) {
    copy(View(target.data + target.place(line, scale), byte, part, target.unit_strides()),
         ConstView(source.data, byte, part, Extents(part.size(), 0)), nothing, options);
  };
  const std::int64_t fours = ceil_div(scales, std::int64_t{4}) * 4;
  for_parts(matrices, Range{0, lines}, Range{scales, fours}, clear);
  if (to != ScaleOrder::tiles_128x4) return;
  for_parts(matrices, Range{lines, ceil_div(lines, std::int64_t{128}) * 128}, Range{0, fours},
            clear);
}

void transpose_blocks(BlockFormat format, const View& values, const View& scales,
                      const ConstView& src_values, const ConstView& src_scales,
                      const Options& options) {
  const BlockRow& row = row_of(format);
  if (!row.has_scales()) {
    refuse(fmt::format("format = {}: the scales of its blocks are inside them", row.name));
  }
  if (src_values.shape.size() != 2) {
    refuse(fmt::format("src_values.shape = {} has to be that of a matrix",
                       shape_text(src_values.shape)));
  }
  const std::int64_t rows = src_values.shape[0];
  const std::int64_t columns = src_values.shape[1] * row.values_per_unit();
  for (const auto& [extent, axis] : {std::pair(rows, 0), std::pair(columns, 1)}) {
    if (extent % row.along == 0) continue;
    refuse(fmt::format("src_values.shape[{}]: {} values are no multiple of {}, a block of {}", axis,
                       extent, row.along, row.name));
  }
  check_stored({"src_values", src_values}, {"src_scales", src_scales}, row, {rows, columns});
  check_stored({"values", values}, {"scales", scales}, row, {columns, rows});
  const BlockOperand written[] = {{"values", values}, {"scales", scales}};
  const BlockOperand read[] = {{"src_values", src_values}, {"src_scales", src_scales}};
  for (const BlockOperand& to : written) {
    for (const BlockOperand& from : read) check_memory(to, from);
  }
  check_memory(written[1], written[0]);
  if (row.across == row.along) {
    copy(values, src_values.permuted({1, 0}), options);
    return copy(scales, src_scales.permuted({1, 0}), options);
  }
  if (rows == 0 || columns == 0) return;
  std::vector<NamedPointer> pointers;
  for (const BlockOperand* operand : {&written[0], &written[1], &read[0], &read[1]}) {
    if (operand->data == nullptr) refuse(fmt::format("{}.data = null", operand->name));
    pointers.push_back({operand->name, operand->data});
  }
  if (target_of(options, pointers).gpu >= 0) {
    throw Error(Status::unsupported,
                fmt::format("format = {}: a GPU transposes square blocks alone", row.name));
  }
  const auto lines = [](const BlockOperand& of_values, const BlockOperand& of_scales) {
    return cpu::LineBlocks{static_cast<std::byte*>(of_values.data),
                           static_cast<std::byte*>(of_scales.data),
                           {of_values.strides[0], of_values.strides[1]},
                           {of_scales.strides[0], of_scales.strides[1]}};
  };
  const auto inexact = cpu::transpose_lines(
      row, lines(written[0], written[1]), lines(read[0], read[1]), rows, columns, options.threads);
  if (!inexact) return;
  throw Error(Status::unsupported,
              fmt::format("format = {}: value ({}, {}) cannot stay what it is with the largest "
                          "scale of its square of blocks; dequantise, and quantise the transpose",
                          row.name, inexact->row, inexact->column));
}

namespace {

// A group's part of the arrays of all.
struct Group {
  View values;
  std::optional<View> scales;
  ConstView src;
};

// Indices [first, first + count) of the first axis.
template <class Void>
BasicView<Void> some_rows(const BasicView<Void>& all, std::int64_t first, std::int64_t count) {
  using Byte = std::conditional_t<std::is_const_v<Void>, const std::byte, std::byte>;
  BasicView<Void> some = all;
  if (all.data != nullptr) {
    some.data = static_cast<Byte*>(static_cast<Void*>(all.data)) + first * all.strides[0];
  }
  some.shape[0] = count;
  return some;
}

// So many tiles, as quantise() has them for the blocks of a group.
View tiles_of(const View& all, std::int64_t first, const Extents& shape, int axis) {
  const std::int64_t line = shape[static_cast<std::size_t>(axis)] * 512;
  Extents strides{line, 512, 1};
  if (axis == 0) std::swap(strides[0], strides[1]);
  auto* const data = static_cast<std::byte*>(all.data);
  return {data == nullptr ? data : data + first * 512, all.type, shape, strides};
}

std::deque<Group> groups_of(const BlockRow& row, const View& values, const View* scales,
                            const ConstView& src, const Extents& sizes, int axis,
                            ScaleOrder order) {
  const bool tiled = order == ScaleOrder::tiles_128x4;
  std::deque<Group> groups;
  std::int64_t first = 0, of_values = 0, of_scales = 0;
  for (const std::int64_t size : sizes) {
    const GroupShapes shapes = group_shapes(row, {size, src.shape[1]}, axis, order);
    Group& group = groups.emplace_back(Group{some_rows(values, of_values, shapes.values[0]),
                                             std::nullopt, some_rows(src, first, size)});
    first += size;
    of_values += shapes.values[0];
    if (scales == nullptr) continue;
    group.scales = tiled ? tiles_of(*scales, of_scales, shapes.scales, axis)
                         : some_rows(*scales, of_scales, shapes.scales[0]);
    of_scales += tiled ? shapes.scales[0] * shapes.scales[1] : shapes.scales[0];
  }
  const auto check = [](const char* name, const Extents& shape, const Extents& expected) {
    if (shape == expected) return;
    refuse(
        fmt::format("{}.shape = {} has to be {}", name, shape_text(shape), shape_text(expected)));
  };
  const GroupShapes none = group_shapes(row, {0, src.shape[1]}, axis, order);
  check("values", values.shape, {of_values, none.values[1]});
  if (scales == nullptr) return groups;
  check("scales", scales->shape, {of_scales, tiled ? 512 : none.scales[1]});
  if (tiled && (scales->strides[0] != 512 || scales->strides[1] != 1)) {
    refuse(fmt::format("scales.strides = {} have to be (512, 1): tiles follow each other",
                       shape_text(scales->strides)));
  }
  return groups;
}

void check_sizes(const BlockRow& row, const ConstView& src, const Extents& sizes, int axis,
                 bool pad) {
  if (src.shape.size() != 2 || axis < 0 || axis > 1) {
    refuse(
        fmt::format("src.shape = {}, axis = {}: groups are those of a matrix, whose blocks lie "
                    "along axis 0 or 1",
                    shape_text(src.shape), axis));
  }
  const int of_block = axis == 0 ? row.along : row.across;
  for (std::size_t g = 0; g < sizes.size(); ++g) {
    if (sizes[g] < 0) refuse(fmt::format("sizes[{}] = {} is negative", g, sizes[g]));
    if (pad || sizes[g] % of_block == 0) continue;
    refuse(
        fmt::format("sizes[{}] = {} is no multiple of {}: it is padded with zeros only where "
                    "options.pad asks for it",
                    g, sizes[g], of_block));
  }
  const std::int64_t all = std::accumulate(sizes.begin(), sizes.end(), std::int64_t{0});
  if (all != src.shape[0]) {
    refuse(fmt::format("sizes have {} rows together, and src.shape[0] = {}", all, src.shape[0]));
  }
}

}  // namespace

void quantise_groups(BlockFormat format, const View& values, const View* scales,
                     const ConstView& src, const Extents& sizes, int axis,
                     const BlockOptions& options) {
  const BlockRow& row = row_of(format);
  check_sizes(row, src, sizes, axis, options.pad);
  const ScaleOrder order = row.has_scales() ? options.scale_order : ScaleOrder::strided;
  const std::deque<Group> groups = groups_of(row, values, scales, src, sizes, axis, order);
  check_memory({"values", values}, {"src", src});
  if (scales != nullptr) {
    check_memory({"scales", *scales}, {"src", src});
    check_memory({"scales", *scales}, {"values", values});
  }
  std::deque<std::optional<BlockOperand>> codes;
  std::deque<BlockCall> calls;
  for (const Group& group : groups) {
    auto& of_group = codes.emplace_back();
    if (group.scales) of_group.emplace("scales", *group.scales);
    calls.push_back(block_call(format, {"src", group.src}, {"values", group.values},
                               of_group ? &*of_group : nullptr, axis, false, options));
  }
  run_calls(calls, options);
}

}  // namespace cornerturn
