#include "amax.hpp"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "cornerturn/cornerturn.hpp"
#include "execute.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace cornerturn::python {
namespace {

using Numbers = std::vector<std::int64_t>;

ConstView view_of(std::uintptr_t address, const std::string& type, Numbers shape, Numbers strides) {
  return {reinterpret_cast<const void*>(address), ElementType::parse(type), std::move(shape),
          std::move(strides)};
}

double amax_of(std::uintptr_t src, const std::string& type, Numbers shape, Numbers strides,
               int device, std::uintptr_t stream) {
  const nb::gil_scoped_release released;
  const ConstView view = view_of(src, type, std::move(shape), std::move(strides));
  double found = 0;
  on_device(device, [&] { found = amax(view, 0, reinterpret_cast<void*>(stream)); });
  return found;
}

double quantise(std::uintptr_t dst, const std::string& dst_type, std::uintptr_t src,
                const std::string& type, const Numbers& shape, Numbers strides, int device,
                std::uintptr_t stream) {
  const nb::gil_scoped_release released;
  const View result(reinterpret_cast<void*>(dst), ElementType::parse(dst_type), shape);
  const ConstView source = view_of(src, type, shape, std::move(strides));
  double scale = 0;
  on_device(device,
            [&] { scale = quantise_tensor(result, source, 0, reinterpret_cast<void*>(stream)); });
  return scale;
}

}  // namespace

void add_amax(nb::module_& module) {
  module.def("amax", amax_of, "src"_a, "type"_a, "shape"_a, "strides"_a, "device"_a, "stream"_a);
  module.def("quantise_tensor", quantise, "dst"_a, "dst_type"_a, "src"_a, "type"_a, "shape"_a,
             "strides"_a, "device"_a, "stream"_a);
}

}  // namespace cornerturn::python
