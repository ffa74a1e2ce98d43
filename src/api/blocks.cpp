// The public functions that quantise in blocks: check, then run.
#include "cornerturn/blocks.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "api/known_plans.hpp"
#include "api/target.hpp"
#include "core/divide.hpp"
#include "core/refuse.hpp"
#include "core/validate.hpp"

namespace cornerturn {
namespace {

// What a check needs to know of a view, whether it is read or written.
struct Operand {
  const char* name;
  const void* data;
  ElementType type;
  const Extents& shape;
  const Extents& strides;

  template <class Void>
  Operand(const char* label, const BasicView<Void>& view)
      : name(label), data(view.data), type(view.type), shape(view.shape), strides(view.strides) {}
};

std::string text(const Extents& shape) {
  return fmt::format("({})", fmt::join(shape, ", "));
}

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
    refuse(fmt::format("{}.shape = {} has to be {}", argument.name, text(argument.shape),
                       text(expected)));
  }
}

void check_axis(const Operand& plain, int axis, bool pad) {
  const auto rank = static_cast<int>(plain.shape.size());
  if (axis < 0 || axis >= rank) {
    refuse(fmt::format("axis = {} is out of range for rank {}", axis, rank));
  }
  const std::int64_t extent = plain.shape[static_cast<std::size_t>(axis)];
  if (extent % block_values != 0 && !pad) {
    refuse(
        fmt::format("{}.shape[{}] = {} is no multiple of {}: it is padded with zeros only where "
                    "options.pad asks for it",
                    plain.name, axis, extent, block_values));
  }
}

Extents with_extent(Extents shape, int axis, std::int64_t extent) {
  shape[static_cast<std::size_t>(axis)] = extent;
  return shape;
}

std::int64_t blocks_of(const Operand& plain, int axis) {
  return ceil_div(plain.shape[static_cast<std::size_t>(axis)], std::int64_t{block_values});
}

// Ranks, strides, offsets, overlapping elements and pointers: as a copy checks them. `written` is
// compared with every one of `read`.
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

void check_real(const Operand& plain) {
  if (!is_real(plain.type.kind())) {
    throw Error(Status::unsupported,
                fmt::format("{}.type = {} has no real values: blocks hold bool, i8, ... f64, f16, "
                            "bf16, f8_e4m3 and f8_e5m2",
                            plain.name, plain.type.name()));
  }
}

template <class Void>
void* address_of(const BasicView<Void>& view) {
  return const_cast<void*>(static_cast<const void*>(view.data));
}

// A call that has been checked, and what a plan for it depends on.
struct Call {
  Problem problem;
  Buffers buffers;
  std::vector<NamedPointer> pointers;  // the array itself first
  Operand plain;
};

const ElementType q8_type = ElementType::bytes(q8_0_bytes);

void check_q8(const Operand& plain, const Operand& blocks, int axis, bool pad) {
  check_axis(plain, axis, pad);
  check_real(plain);
  check_type(blocks, {q8_type});
  check_shape(blocks, with_extent(plain.shape, axis, blocks_of(plain, axis)));
}

void check_mx(const Operand& plain, const Operand& values, const Operand& scales, int axis,
              bool pad) {
  check_axis(plain, axis, pad);
  check_real(plain);
  check_type(values, {ElementType(Kind::f8_e4m3), ElementType(Kind::f8_e5m2)});
  check_type(scales, {ElementType(Kind::u8)});
  const std::int64_t blocks = blocks_of(plain, axis);
  check_shape(values, with_extent(plain.shape, axis, blocks * block_values));
  check_shape(scales, with_extent(plain.shape, axis, blocks));
}

BlockFormat format_of(const Operand& values) {
  return values.type.kind() == Kind::f8_e4m3 ? BlockFormat::mxfp8_e4m3 : BlockFormat::mxfp8_e5m2;
}

BlockRule rule_of(const Operand& values, const BlockOptions& options) {
  const BlockFormat format = format_of(values);
  const BlockScale scale = options.scale.value_or(row_of(format).standard_rule());
  if (!row_of(format).takes(scale)) refuse("options.scale = exact is for scales of f32");
  return {format, scale};
}

template <class PlainView, class BlockView>
Call q8_call(const PlainView& array, const BlockView& blocks, int axis, bool back, bool pad) {
  const Operand plain(back ? "dst" : "src", array);
  const Operand other("blocks", blocks);
  check_q8(plain, other, axis, back || pad);
  back ? check_memory(plain, other) : check_memory(other, plain);
  Blocks how;
  how.back = back;
  how.first = {axis, blocks.strides, {}};
  Buffers buffers{address_of(blocks), array.data};
  if (back) buffers = {address_of(array), blocks.data};
  return {block_problem(array.type, array.shape, array.strides, how),
          buffers,
          {{plain.name, plain.data}, {other.name, other.data}},
          plain};
}

template <class PlainView, class BlockView>
Call mx_call(const PlainView& array, const BlockView& values, const BlockView& scales, int axis,
             bool back, const BlockOptions& options) {
  const Operand plain(back ? "dst" : "src", array);
  const Operand other("values", values);
  const Operand codes("scales", scales);
  check_mx(plain, other, codes, axis, back || options.pad);
  if (back) {
    check_memory(plain, other);
    check_memory(plain, codes);
  } else {
    check_memory(other, plain);
    check_memory(codes, plain);
    check_memory(codes, other);
  }
  Blocks how;
  how.rule = back ? BlockRule{format_of(other)} : rule_of(other, options);
  how.back = back;
  how.first = {axis, values.strides, scales.strides};
  Buffers buffers{address_of(values), array.data};
  if (back) buffers = {address_of(array), values.data};
  buffers.blocks.scales = address_of(scales);
  return {block_problem(array.type, array.shape, array.strides, how),
          buffers,
          {{plain.name, plain.data}, {other.name, other.data}, {codes.name, codes.data}},
          plain};
}

Call both_call(const View& rows, const View& row_scales, const View& columns,
               const View& column_scales, const ConstView& src, const BlockOptions& options) {
  const Operand plain("src", src);
  if (src.shape.size() != 2) {
    refuse(fmt::format("src.shape = {} has to be that of a matrix", text(src.shape)));
  }
  const Operand along("rows", rows);
  const Operand along_scales("row_scales", row_scales);
  check_mx(plain, along, along_scales, 1, options.pad);
  const ConstView transposed = src.permuted({1, 0});
  const Operand across("columns", columns);
  const Operand across_scales("column_scales", column_scales);
  check_mx(Operand("src (transposed)", transposed), across, across_scales, 1, options.pad);
  if (columns.type != rows.type) {
    refuse(fmt::format("columns.type = {} differs from rows.type = {}", columns.type.name(),
                       rows.type.name()));
  }
  const Operand* written[] = {&along, &along_scales, &across, &across_scales};
  std::vector<NamedPointer> pointers{{plain.name, plain.data}};
  for (const Operand* a : written) {
    check_memory(*a, plain);
    for (const Operand* b : written) {
      if (a < b) check_memory(*a, *b);
    }
    pointers.push_back({a->name, a->data});
  }
  Blocks how;
  how.rule = rule_of(along, options);
  how.first = {1, rows.strides, row_scales.strides};
  // The transpose, seen from the matrix.
  how.second =
      BlockLayout{0, columns.permuted({1, 0}).strides, column_scales.permuted({1, 0}).strides};
  Buffers buffers{rows.data, src.data};
  buffers.blocks = {row_scales.data, columns.data, column_scales.data};
  return {block_problem(src.type, src.shape, src.strides, how), buffers, std::move(pointers),
          plain};
}

Options options_of(const BlockOptions& of_blocks) {
  Options options;
  options.threads = of_blocks.threads;
  options.kernel = of_blocks.kernel;
  options.effort = of_blocks.effort;
  options.stream = of_blocks.stream;
  options.device = of_blocks.device;
  return options;
}

Target target_for(const Call& call, const Options& options) {
  Target target = target_of(options, call.pointers);
  if (target.gpu < 0) return target;
  check_elements_aligned(call.plain.name, call.plain.data, call.plain.type, call.plain.strides);
  const BlockBuffers& blocks = call.buffers.blocks;
  target.alignment = {true,
                      alignment_of(call.buffers.src),
                      alignment_of(call.buffers.dst),
                      alignment_of(blocks.scales),
                      alignment_of(blocks.second),
                      alignment_of(blocks.second_scales)};
  return target;
}

void check_pointers(const Call& call) {
  if (call.problem.elements() == 0) return;
  for (const NamedPointer& one : call.pointers) {
    if (one.pointer == nullptr) refuse(fmt::format("{}.data = null", one.name));
  }
}

void run(const Call& call, const BlockOptions& of_blocks) {
  const Options options = options_of(of_blocks);
  require_here(options);
  check_pointers(call);
  const Target target = target_for(call, options);
  if (call.problem.elements() == 0) return;
  const FoundPlan found = find_plan(call.problem, options, target, call.buffers);
  if (!found.executed) run(*found.plan, call.buffers, options.stream);
}

Plan plan_for(const Call& call, const BlockOptions& of_blocks) {
  const Options options = options_of(of_blocks);
  if (const auto device = described_device(options)) {
    return Plan(plan_for(*device, call.problem, options));
  }
  if (options.effort == Effort::measure) check_pointers(call);
  return Plan(find_plan(call.problem, options, target_for(call, options), call.buffers).plan);
}

}  // namespace

void quantise_q8_0(const View& blocks, const ConstView& src, int axis,
                   const BlockOptions& options) {
  run(q8_call(src, blocks, axis, false, options.pad), options);
}

Plan plan_quantise_q8_0(const View& blocks, const ConstView& src, int axis,
                        const BlockOptions& options) {
  return plan_for(q8_call(src, blocks, axis, false, options.pad), options);
}

void dequantise_q8_0(const View& dst, const ConstView& blocks, int axis,
                     const BlockOptions& options) {
  run(q8_call(dst, blocks, axis, true, true), options);
}

Plan plan_dequantise_q8_0(const View& dst, const ConstView& blocks, int axis,
                          const BlockOptions& options) {
  return plan_for(q8_call(dst, blocks, axis, true, true), options);
}

void quantise_mxfp8(const View& values, const View& scales, const ConstView& src, int axis,
                    const BlockOptions& options) {
  run(mx_call(src, values, scales, axis, false, options), options);
}

Plan plan_quantise_mxfp8(const View& values, const View& scales, const ConstView& src, int axis,
                         const BlockOptions& options) {
  return plan_for(mx_call(src, values, scales, axis, false, options), options);
}

void dequantise_mxfp8(const View& dst, const ConstView& values, const ConstView& scales, int axis,
                      const BlockOptions& options) {
  run(mx_call(dst, values, scales, axis, true, options), options);
}

Plan plan_dequantise_mxfp8(const View& dst, const ConstView& values, const ConstView& scales,
                           int axis, const BlockOptions& options) {
  return plan_for(mx_call(dst, values, scales, axis, true, options), options);
}

void quantise_mxfp8_both(const View& rows, const View& row_scales, const View& columns,
                         const View& column_scales, const ConstView& src,
                         const BlockOptions& options) {
  run(both_call(rows, row_scales, columns, column_scales, src, options), options);
}

Plan plan_quantise_mxfp8_both(const View& rows, const View& row_scales, const View& columns,
                              const View& column_scales, const ConstView& src,
                              const BlockOptions& options) {
  return plan_for(both_call(rows, row_scales, columns, column_scales, src, options), options);
}

}  // namespace cornerturn
