#include "in_place.hpp"

#include <nanobind/stl/vector.h>

#include "cornerturn/cornerturn.hpp"
#include "execute.hpp"
#include "operand.hpp"
#include "threads.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace cornerturn::python {
namespace {

// The strides of the result, in bytes.
Extents permute(const Operand& array, const std::vector<int>& axes, int device,
                std::uintptr_t stream) {
  const nb::gil_scoped_release released;
  Options options;
  options.threads = thread_limit();
  options.stream = reinterpret_cast<void*>(stream);
  Extents strides;
  on_device(device, [&] { strides = permute_in_place(array.view(), axes, options).strides; });
  return strides;
}

}  // namespace

void add_in_place(nb::module_& module) {
  module.def("permute_in_place", permute, "array"_a, "axes"_a, "device"_a, "stream"_a);
}

}  // namespace cornerturn::python
