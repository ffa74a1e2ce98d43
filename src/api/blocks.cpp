// The public functions that quantise in blocks: check, then run.
#include "cornerturn/blocks.hpp"

#include <fmt/format.h>

#include "api/target.hpp"
#include "core/divide.hpp"
#include "core/refuse.hpp"
#include "core/validate.hpp"
#include "cpu/blocks.hpp"
#include "cpu/threads.hpp"
#include "cuda/backend.hpp"
#include "plan/gpu/quantise.hpp"
#include "plan/planner.hpp"

namespace cornerturn {
namespace {

using values::BlockFormat;

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
  Problem to = make_problem(ConstView(nullptr, type, written.shape),
                            View(nullptr, type, written.shape, written.strides));
  const ConstView source = dense(read);
  Problem from = make_problem(source, View(nullptr, source.type, read.shape));
  if (from.elements() == 0 || to.elements() == 0) return;
  for (const Operand& argument : {written, read}) {
    if (argument.data == nullptr) refuse(fmt::format("{}.data = null", argument.name));
  }
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
  const Kind kind = plain.type.kind();
  if (kind == Kind::bytes || kind == Kind::c64 || kind == Kind::c128) {
    throw Error(Status::unsupported,
                fmt::format("{}.type = {} has no real values: blocks hold bool, i8, ... f64, f16, "
                            "bf16, f8_e4m3 and f8_e5m2",
                            plain.name, plain.type.name()));
  }
}

int threads_for(const Operand& plain, const BlockOptions& options) {
  std::int64_t elements = 1;
  for (const std::int64_t extent : plain.shape) elements *= extent;
  const auto useful = std::clamp<std::int64_t>(elements / (64 << 10), 1, 1024);
  return cpu::resolve_threads(options.threads, static_cast<int>(useful));
}

// Do all arguments lie on the current GPU? The first of them is the array itself.
bool on_gpu(std::initializer_list<const Operand*> arguments) {
  std::vector<NamedPointer> pointers;
  for (const Operand* argument : arguments) pointers.push_back({argument->name, argument->data});
  if (gpu_of(pointers) < 0) return false;
  const Operand& plain = **arguments.begin();
  check_elements_aligned(plain.name, plain.data, plain.type, plain.strides);
  return true;
}

cuda::Stream stream_of(const BlockOptions& options) {
  return static_cast<cuda::Stream>(options.stream);
}

bool is_empty(const Operand& plain) {
  return std::find(plain.shape.begin(), plain.shape.end(), 0) != plain.shape.end();
}

template <class Void>
std::byte* bytes_of(const BasicView<Void>& view) {
  return static_cast<std::byte*>(const_cast<void*>(static_cast<const void*>(view.data)));
}

template <class Void>
PlainArray array_of(const BasicView<Void>& view) {
  return {bytes_of(view), view.type, view.shape, view.strides};
}

template <class Void>
BlockArrays blocks_in(const BasicView<Void>& values, int axis) {
  return {bytes_of(values), values.strides, nullptr, {}, axis};
}
template <class Void>
BlockArrays blocks_in(const BasicView<Void>& values, const BasicView<Void>& scales, int axis) {
  return {bytes_of(values), values.strides, bytes_of(scales), scales.strides, axis};
}

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
  return values.type.kind() == Kind::f8_e4m3 ? BlockFormat::mx_e4m3 : BlockFormat::mx_e5m2;
}

values::MxScale rule_of(const BlockOptions& options) {
  return options.scale == BlockScale::ceil ? values::MxScale::ceil : values::MxScale::floor;
}

void quantise(const PlainArray& array, const BlockArrays& blocks, const BlockArrays* turned,
              const BlockRule& rule, bool gpu, const Operand& plain, const BlockOptions& options) {
  if (is_empty(plain)) return;
  if (!gpu) return cpu::quantise(array, blocks, turned, rule, threads_for(plain, options));
  for (const plan::gpu::BlocksWork& work : plan::gpu::quantise_works(array, blocks, turned, rule)) {
    cuda::execute(work, stream_of(options));
  }
}

void dequantise(const PlainArray& array, const BlockArrays& blocks, BlockFormat format, bool gpu,
                const Operand& plain, const BlockOptions& options) {
  if (is_empty(plain)) return;
  if (!gpu) return cpu::dequantise(array, blocks, format, threads_for(plain, options));
  cuda::execute(plan::gpu::dequantise_work(array, blocks, format), stream_of(options));
}

}  // namespace

void quantise_q8_0(const View& blocks, const ConstView& src, int axis,
                   const BlockOptions& options) {
  const Operand plain("src", src);
  const Operand result("blocks", blocks);
  check_q8(plain, result, axis, options.pad);
  check_memory(result, plain);
  const bool gpu = on_gpu({&plain, &result});
  quantise(array_of(src), blocks_in(blocks, axis), nullptr, {}, gpu, plain, options);
}

void dequantise_q8_0(const View& dst, const ConstView& blocks, int axis,
                     const BlockOptions& options) {
  const Operand plain("dst", dst);
  const Operand source("blocks", blocks);
  check_q8(plain, source, axis, true);
  check_memory(plain, source);
  const bool gpu = on_gpu({&plain, &source});
  dequantise(array_of(dst), blocks_in(blocks, axis), BlockFormat::q8_0, gpu, plain, options);
}

void quantise_mxfp8(const View& values, const View& scales, const ConstView& src, int axis,
                    const BlockOptions& options) {
  const Operand plain("src", src);
  const Operand result("values", values);
  const Operand codes("scales", scales);
  check_mx(plain, result, codes, axis, options.pad);
  check_memory(result, plain);
  check_memory(codes, plain);
  check_memory(codes, result);
  const bool gpu = on_gpu({&plain, &result, &codes});
  quantise(array_of(src), blocks_in(values, scales, axis), nullptr,
           {format_of(result), rule_of(options)}, gpu, plain, options);
}

void dequantise_mxfp8(const View& dst, const ConstView& values, const ConstView& scales, int axis,
                      const BlockOptions& options) {
  const Operand plain("dst", dst);
  const Operand source("values", values);
  const Operand codes("scales", scales);
  check_mx(plain, source, codes, axis, true);
  check_memory(plain, source);
  check_memory(plain, codes);
  const bool gpu = on_gpu({&plain, &source, &codes});
  dequantise(array_of(dst), blocks_in(values, scales, axis), format_of(source), gpu, plain,
             options);
}

void quantise_mxfp8_both(const View& rows, const View& row_scales, const View& columns,
                         const View& column_scales, const ConstView& src,
                         const BlockOptions& options) {
  const Operand plain("src", src);
  if (src.shape.size() != 2) {
    refuse(fmt::format("src.shape = {} has to be that of a matrix", text(src.shape)));
  }
  const Operand along("rows", rows);
  const Operand along_scales("row_scales", row_scales);
  check_mx(plain, along, along_scales, 1, options.pad);
  const ConstView turned = src.permuted({1, 0});
  const Operand across("columns", columns);
  const Operand across_scales("column_scales", column_scales);
  check_mx(Operand("src (transposed)", turned), across, across_scales, 1, options.pad);
  if (columns.type != rows.type) {
    refuse(fmt::format("columns.type = {} differs from rows.type = {}", columns.type.name(),
                       rows.type.name()));
  }
  const Operand* written[] = {&along, &along_scales, &across, &across_scales};
  for (const Operand* a : written) {
    check_memory(*a, plain);
    for (const Operand* b : written) {
      if (a < b) check_memory(*a, *b);
    }
  }
  const bool gpu = on_gpu({&plain, &along, &along_scales, &across, &across_scales});
  // The transpose, seen from the matrix.
  const BlockArrays other = blocks_in(columns.permuted({1, 0}), column_scales.permuted({1, 0}), 0);
  quantise(array_of(src), blocks_in(rows, row_scales, 1), &other,
           {format_of(along), rule_of(options)}, gpu, plain, options);
}

}  // namespace cornerturn
