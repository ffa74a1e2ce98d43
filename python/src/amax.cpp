#include "amax.hpp"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "cornerturn/cornerturn.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace cornerturn::python {
namespace {

using Numbers = std::vector<std::int64_t>;

ConstView view_of(std::uintptr_t address, const std::string& type, Numbers shape, Numbers strides) {
  return {reinterpret_cast<const void*>(address), ElementType::parse(type), std::move(shape),
          std::move(strides)};
}

double amax_of(std::uintptr_t src, const std::string& type, Numbers shape, Numbers strides) {
  const nb::gil_scoped_release released;
  return amax(view_of(src, type, std::move(shape), std::move(strides)));
}

double quantise(std::uintptr_t dst, const std::string& dst_type, std::uintptr_t src,
                const std::string& type, const Numbers& shape, Numbers strides) {
  const nb::gil_scoped_release released;
  return quantise_tensor(View(reinterpret_cast<void*>(dst), ElementType::parse(dst_type), shape),
                         view_of(src, type, shape, std::move(strides)));
}

}  // namespace

void add_amax(nb::module_& module) {
  module.def("amax", amax_of, "src"_a, "type"_a, "shape"_a, "strides"_a);
  module.def("quantise_tensor", quantise, "dst"_a, "dst_type"_a, "src"_a, "type"_a, "shape"_a,
             "strides"_a);
}

}  // namespace cornerturn::python
