#include "blocks.hpp"

#include "cornerturn/cornerturn.hpp"
#include "execute.hpp"
#include "operand.hpp"
#include "threads.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace cornerturn::python {
namespace {

BlockOptions options_of(bool pad, bool ceil, std::uintptr_t stream) {
  BlockOptions options;
  options.threads = thread_limit();
  options.pad = pad;
  options.scale = ceil ? BlockScale::ceil : BlockScale::floor;
  options.stream = reinterpret_cast<void*>(stream);
  return options;
}

void quantise(const Operand& values, const Operand* scales, const Operand& src, int axis, bool pad,
              bool ceil, int device, std::uintptr_t stream) {
  const nb::gil_scoped_release released;
  const BlockOptions options = options_of(pad, ceil, stream);
  on_device(device, [&] {
    if (scales == nullptr) {
      return quantise_q8_0(values.view(), src.const_view(), axis, options);
    }
    quantise_mxfp8(values.view(), scales->view(), src.const_view(), axis, options);
  });
}

void dequantise(const Operand& dst, const Operand& values, const Operand* scales, int axis,
                int device, std::uintptr_t stream) {
  const nb::gil_scoped_release released;
  const BlockOptions options = options_of(false, false, stream);
  on_device(device, [&] {
    if (scales == nullptr) {
      return dequantise_q8_0(dst.view(), values.const_view(), axis, options);
    }
    dequantise_mxfp8(dst.view(), values.const_view(), scales->const_view(), axis, options);
  });
}

void quantise_both(const Operand& rows, const Operand& row_scales, const Operand& columns,
                   const Operand& column_scales, const Operand& src, bool pad, bool ceil,
                   int device, std::uintptr_t stream) {
  const nb::gil_scoped_release released;
  on_device(device, [&] {
    quantise_mxfp8_both(rows.view(), row_scales.view(), columns.view(), column_scales.view(),
                        src.const_view(), options_of(pad, ceil, stream));
  });
}

}  // namespace

void add_blocks(nb::module_& module) {
  module.def("quantise", quantise, "values"_a, "scales"_a.none(), "src"_a, "axis"_a, nb::kw_only(),
             "pad"_a, "ceil"_a, "device"_a, "stream"_a,
             "MXFP8; q8_0, whose blocks are elements of b34, without `scales`.");
  module.def("dequantise", dequantise, "dst"_a, "values"_a, "scales"_a.none(), "axis"_a,
             nb::kw_only(), "device"_a, "stream"_a, "The way back.");
  module.def("quantise_both", quantise_both, "rows"_a, "row_scales"_a, "columns"_a,
             "column_scales"_a, "src"_a, nb::kw_only(), "pad"_a, "ceil"_a, "device"_a, "stream"_a,
             "MXFP8 of a matrix and of its transpose.");
}

}  // namespace cornerturn::python
