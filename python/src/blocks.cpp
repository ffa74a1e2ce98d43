#include "blocks.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <string>
#include <vector>

#include "core/blocks.hpp"
#include "cornerturn/cornerturn.hpp"
#include "execute.hpp"
#include "operand.hpp"
#include "threads.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace cornerturn::python {
namespace {

ScaleOrder scale_order(const std::string& name) {
  if (name == "packed_4") return ScaleOrder::packed_4;
  return name == "tiles_128x4" ? ScaleOrder::tiles_128x4 : ScaleOrder::strided;
}

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
    options.scale_order = scale_order(order);
    options.tensor_scale = tensor_scale;
    if (!seed) return;
    options.rounding = Rounding::stochastic;
    options.seed = *seed;
  }

  BlockOptions on(std::uintptr_t stream, std::optional<bool> checked = {}) const {
    BlockOptions here = options;
    here.threads = thread_limit();
    here.stream = reinterpret_cast<void*>(stream);
    if (checked) here.lists = *checked ? ListChecks::always : ListChecks::never;
    return here;
  }
};

void quantise(const BlockHow& how, const Operand& values, const Operand* scales, const Operand& src,
              int axis, int device, std::uintptr_t stream, const std::optional<List>& src_list,
              std::optional<bool> checked) {
  const nb::gil_scoped_release released;
  on_device(device, [&] {
    std::optional<View> codes;
    if (scales != nullptr) codes = scales->view();
    quantise_listed(how.format, values.view(), codes ? &*codes : nullptr,
                    ConstListedView(src.const_view(), src_list.value_or(List{})), axis,
                    how.on(stream, checked));
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
                   int device, std::uintptr_t stream, const std::optional<List>& src_list,
                   std::optional<bool> checked) {
  const nb::gil_scoped_release released;
  on_device(device, [&] {
    quantise_both_listed(
        how.format, rows.view(), row_scales.view(), columns.view(), column_scales.view(),
        ConstListedView(src.const_view(), src_list.value_or(List{})), how.on(stream, checked));
  });
}

void quantise_groups(const BlockHow& how, const Operand& values, const Operand* scales,
                     const Operand& src, const std::vector<std::int64_t>& sizes, int axis,
                     int device, std::uintptr_t stream) {
  const nb::gil_scoped_release released;
  on_device(device, [&] {
    std::optional<View> codes;
    if (scales != nullptr) codes = scales->view();
    cornerturn::quantise_groups(how.format, values.view(), codes ? &*codes : nullptr,
                                src.const_view(), sizes, axis, how.on(stream));
  });
}

Options options_on(std::uintptr_t stream) {
  Options options;
  options.threads = thread_limit();
  options.stream = reinterpret_cast<void*>(stream);
  return options;
}

void convert_scales(const Operand& dst, const std::string& to, const Operand& src,
                    const std::string& from, const std::vector<std::int64_t>& shape, int device,
                    std::uintptr_t stream) {
  const nb::gil_scoped_release released;
  on_device(device, [&] {
    cornerturn::convert_scales(dst.view(), scale_order(to), src.const_view(), scale_order(from),
                               shape, options_on(stream));
  });
}

void transpose_blocks(const std::string& format, const Operand& values, const Operand& scales,
                      const Operand& src_values, const Operand& src_scales, int device,
                      std::uintptr_t stream) {
  const nb::gil_scoped_release released;
  on_device(device, [&] {
    cornerturn::transpose_blocks(block_format(format), values.view(), scales.view(),
                                 src_values.const_view(), src_scales.const_view(),
                                 options_on(stream));
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
             nb::kw_only(), "device"_a, "stream"_a, "src_list"_a = nb::none(),
             "checked"_a = nb::none(),
             "Blocks whose scales are inside are elements of so many bytes, without `scales`.");
  module.def("dequantise", dequantise, "how"_a, "dst"_a, "values"_a, "scales"_a.none(), "axis"_a,
             nb::kw_only(), "device"_a, "stream"_a, "The way back.");
  module.def("quantise_both", quantise_both, "how"_a, "rows"_a, "row_scales"_a, "columns"_a,
             "column_scales"_a, "src"_a, nb::kw_only(), "device"_a, "stream"_a,
             "src_list"_a = nb::none(), "checked"_a = nb::none(),
             "Blocks of a matrix and of its transpose.");
  module.def("quantise_groups", quantise_groups, "how"_a, "values"_a, "scales"_a.none(), "src"_a,
             "sizes"_a, "axis"_a, nb::kw_only(), "device"_a, "stream"_a,
             "Blocks of a matrix whose rows are groups, every one by itself.");
  module.def("convert_scales", convert_scales, "dst"_a, "to"_a, "src"_a, "from_"_a, "shape"_a,
             nb::kw_only(), "device"_a, "stream"_a,
             "Scales in another order: \"\", \"packed_4\" or \"tiles_128x4\".");
  module.def("transpose_blocks", transpose_blocks, "format"_a, "values"_a, "scales"_a,
             "src_values"_a, "src_scales"_a, nb::kw_only(), "device"_a, "stream"_a,
             "Blocks of a matrix as those of its transpose, as they are stored.");
}

}  // namespace cornerturn::python
