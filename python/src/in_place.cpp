#include "in_place.hpp"

#include <nanobind/stl/vector.h>

#include "cornerturn/cornerturn.hpp"
#include "operand.hpp"
#include "threads.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace cornerturn::python {
namespace {

// The strides of the result, in bytes.
Extents permute(const Operand& array, const std::vector<int>& axes) {
  const nb::gil_scoped_release released;
  Options options;
  options.threads = thread_limit();
  return permute_in_place(array.view(), axes, options).strides;
}

}  // namespace

void add_in_place(nb::module_& module) {
  module.def("permute_in_place", permute, "array"_a, "axes"_a);
}

}  // namespace cornerturn::python
