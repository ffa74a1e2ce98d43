#include "blocks.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <optional>
#include <string>

#include "core/blocks.hpp"
#include "cornerturn/cornerturn.hpp"
#include "execute.hpp"
#include "operand.hpp"
#include "threads.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace cornerturn::python {
namespace {

// How blocks are made, in the words of the package.
struct BlockHow {
  BlockOptions options;
  BlockFormat format;

  BlockHow(const std::string& format_name, bool pad, const std::string& scale,
           const std::string& order, float tensor_scale, std::optional<std::uint64_t> seed)
      : format(block_format(format_name)) {
    options.pad = pad;
    if (scale == "floor") options.scale = BlockScale::floor;
    if (scale == "ceil") options.scale = BlockScale::ceil;
    if (scale == "even") options.scale = BlockScale::even;
    if (scale == "exact") options.scale = BlockScale::exact;
    if (order == "packed_4") options.scale_order = ScaleOrder::packed_4;
    if (order == "tiles_128x4") options.scale_order = ScaleOrder::tiles_128x4;
    options.tensor_scale = tensor_scale;
    if (!seed) return;
    options.rounding = Rounding::stochastic;
    options.seed = *seed;
  }

  BlockOptions on(std::uintptr_t stream) const {
    BlockOptions here = options;
    here.threads = thread_limit();
    here.stream = reinterpret_cast<void*>(stream);
    return here;
  }
};

void quantise(const BlockHow& how, const Operand& values, const Operand* scales, const Operand& src,
              int axis, int device, std::uintptr_t stream) {
  const nb::gil_scoped_release released;
  on_device(device, [&] {
    std::optional<View> codes;
    if (scales != nullptr) codes = scales->view();
    cornerturn::quantise(how.format, values.view(), codes ? &*codes : nullptr, src.const_view(),
                         axis, how.on(stream));
  });
}

void dequantise(const BlockHow& how, const Operand& dst, const Operand& values,
                const Operand* scales, int axis, int device, std::uintptr_t stream) {
  const nb::gil_scoped_release released;
  on_device(device, [&] {
    std::optional<ConstView> codes;
    if (scales != nullptr) codes = scales->const_view();
    cornerturn::dequantise(how.format, dst.view(), values.const_view(), codes ? &*codes : nullptr,
                           axis, how.on(stream));
  });
}

void quantise_both(const BlockHow& how, const Operand& rows, const Operand& row_scales,
                   const Operand& columns, const Operand& column_scales, const Operand& src,
                   int device, std::uintptr_t stream) {
  const nb::gil_scoped_release released;
  on_device(device, [&] {
    cornerturn::quantise_both(how.format, rows.view(), row_scales.view(), columns.view(),
                              column_scales.view(), src.const_view(), how.on(stream));
  });
}

nb::list block_formats() {
  nb::list rows;
  for (const BlockRow& row : block_rows) {
    const std::string type = type_of_blocks(row.format).kind() == Kind::f8_e4m3   ? "float8_e4m3fn"
                             : type_of_blocks(row.format).kind() == Kind::f8_e5m2 ? "float8_e5m2"
                                                                                  : "uint8";
    const std::string scales = row.scale == ScaleType::f32 ? "float32" : "uint8";
    rows.append(nb::make_tuple(std::string(row.name), type, row.along, row.across,
                               row.values_per_unit(), row.unit_bytes(),
                               row.has_scales() ? scales : std::string()));
  }
  return rows;
}

}  // namespace

void add_blocks(nb::module_& module) {
  module.def("block_formats", block_formats,
             "The table of formats: name, dtype of the values, values of a block along its axis, "
             "lines of a block,\nvalues and bytes of an element, dtype of the scales.");
  module.def(
      "nvfp4_tensor_scale", [](double amax) { return nvfp4_tensor_scale(amax); }, "amax"_a,
      "The scale of a tensor of NVFP4 with this largest magnitude.");
  nb::class_<BlockHow>(module, "BlockHow", "The format of blocks, and how they are made.")
      .def(nb::init<const std::string&, bool, const std::string&, const std::string&, float,
                    std::optional<std::uint64_t>>(),
           "format"_a, "pad"_a = false, "scale"_a = "", "order"_a = "", "tensor_scale"_a = 1.0F,
           "seed"_a = nb::none());
  module.def("quantise", quantise, "how"_a, "values"_a, "scales"_a.none(), "src"_a, "axis"_a,
             nb::kw_only(), "device"_a, "stream"_a,
             "Blocks whose scales are inside are elements of so many bytes, without `scales`.");
  module.def("dequantise", dequantise, "how"_a, "dst"_a, "values"_a, "scales"_a.none(), "axis"_a,
             nb::kw_only(), "device"_a, "stream"_a, "The way back.");
  module.def("quantise_both", quantise_both, "how"_a, "rows"_a, "row_scales"_a, "columns"_a,
             "column_scales"_a, "src"_a, nb::kw_only(), "device"_a, "stream"_a,
             "Blocks of a matrix and of its transpose.");
}

}  // namespace cornerturn::python
