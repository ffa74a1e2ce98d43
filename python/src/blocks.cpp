#include "blocks.hpp"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "cornerturn/cornerturn.hpp"
#include "execute.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace cornerturn::python {
namespace {

using Numbers = std::vector<std::int64_t>;

Numbers with_extent(Numbers shape, int axis, std::int64_t extent) {
  shape.at(static_cast<std::size_t>(axis)) = extent;
  return shape;
}

std::int64_t blocks_of(const Numbers& shape, int axis) {
  return (shape.at(static_cast<std::size_t>(axis)) + block_values - 1) / block_values;
}

template <class View>
auto view_of(std::uintptr_t address, const std::string& type, Numbers shape, Numbers strides) {
  return View(reinterpret_cast<decltype(View::data)>(address), ElementType::parse(type),
              std::move(shape), std::move(strides));
}

// The blocks are packed, last axis fastest.
template <class View>
View packed(std::uintptr_t address, ElementType type, Numbers shape) {
  return View(reinterpret_cast<decltype(View::data)>(address), type, std::move(shape));
}

bool is_q8(const std::string& format) {
  return format == "q8_0";
}

ElementType element_of(const std::string& format) {
  return ElementType(format == "mxfp8_e5m2" ? Kind::f8_e5m2 : Kind::f8_e4m3);
}

BlockOptions options_of(bool pad, bool ceil, std::uintptr_t stream) {
  BlockOptions options;
  options.pad = pad;
  options.scale = ceil ? BlockScale::ceil : BlockScale::floor;
  options.stream = reinterpret_cast<void*>(stream);
  return options;
}

void quantise(std::uintptr_t src, const std::string& type, const Numbers& shape, Numbers strides,
              int axis, const std::string& format, bool pad, bool ceil, int device,
              std::uintptr_t stream, std::uintptr_t values, std::uintptr_t scales) {
  const nb::gil_scoped_release released;
  const auto source = view_of<ConstView>(src, type, shape, std::move(strides));
  const BlockOptions options = options_of(pad, ceil, stream);
  const std::int64_t blocks = blocks_of(shape, axis);
  const Numbers per_block = with_extent(shape, axis, blocks);
  on_device(device, [&] {
    if (is_q8(format)) {
      return quantise_q8_0(packed<View>(values, ElementType::bytes(q8_0_bytes), per_block), source,
                           axis, options);
    }
    quantise_mxfp8(
        packed<View>(values, element_of(format), with_extent(shape, axis, blocks * block_values)),
        packed<View>(scales, ElementType(Kind::u8), per_block), source, axis, options);
  });
}

void dequantise(std::uintptr_t dst, const std::string& type, const Numbers& shape, Numbers strides,
                int axis, const std::string& format, int device, std::uintptr_t stream,
                std::uintptr_t values, std::uintptr_t scales) {
  const nb::gil_scoped_release released;
  const auto result = view_of<View>(dst, type, shape, std::move(strides));
  const std::int64_t blocks = blocks_of(shape, axis);
  const Numbers per_block = with_extent(shape, axis, blocks);
  const BlockOptions options = options_of(false, false, stream);
  on_device(device, [&] {
    if (is_q8(format)) {
      return dequantise_q8_0(result,
                             packed<ConstView>(values, ElementType::bytes(q8_0_bytes), per_block),
                             axis, options);
    }
    const Numbers whole = with_extent(shape, axis, blocks * block_values);
    dequantise_mxfp8(result, packed<ConstView>(values, element_of(format), whole),
                     packed<ConstView>(scales, ElementType(Kind::u8), per_block), axis, options);
  });
}

void quantise_both(std::uintptr_t src, const std::string& type, const Numbers& shape,
                   Numbers strides, const std::string& format, bool pad, bool ceil, int device,
                   std::uintptr_t stream, std::uintptr_t rows, std::uintptr_t row_scales,
                   std::uintptr_t columns, std::uintptr_t column_scales) {
  const nb::gil_scoped_release released;
  const auto source = view_of<ConstView>(src, type, shape, std::move(strides));
  const BlockOptions options = options_of(pad, ceil, stream);
  const std::int64_t across = blocks_of(shape, 1);
  const std::int64_t down = blocks_of(shape, 0);
  const ElementType element = element_of(format);
  const ElementType code(Kind::u8);
  on_device(device, [&] {
    quantise_mxfp8_both(packed<View>(rows, element, {shape[0], across * block_values}),
                        packed<View>(row_scales, code, {shape[0], across}),
                        packed<View>(columns, element, {shape[1], down * block_values}),
                        packed<View>(column_scales, code, {shape[1], down}), source, options);
  });
}

}  // namespace

void add_blocks(nb::module_& module) {
  module.def("quantise", quantise, "src"_a, "type"_a, "shape"_a, "strides"_a, "axis"_a, "format"_a,
             "pad"_a, "ceil"_a, "device"_a, "stream"_a, "values"_a, "scales"_a = 0);
  module.def("dequantise", dequantise, "dst"_a, "type"_a, "shape"_a, "strides"_a, "axis"_a,
             "format"_a, "device"_a, "stream"_a, "values"_a, "scales"_a = 0);
  module.def("quantise_both", quantise_both, "src"_a, "type"_a, "shape"_a, "strides"_a, "format"_a,
             "pad"_a, "ceil"_a, "device"_a, "stream"_a, "rows"_a, "row_scales"_a, "columns"_a,
             "column_scales"_a);
}

}  // namespace cornerturn::python
