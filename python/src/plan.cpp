#include "plan.hpp"

#include <nanobind/operators.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include "cornerturn/cornerturn.hpp"
#include "execute.hpp"
#include "operand.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace cornerturn::python {
namespace {

using Numbers = std::vector<std::int64_t>;

Plan make(std::uintptr_t dst, std::uintptr_t src, std::int64_t itemsize, Numbers shape,
          Numbers dst_strides, Numbers src_strides, int gpu, const std::string& device,
          const std::string& kernel, int threads, bool measure, std::uintptr_t stream,
          const std::string& dst_type, const std::string& src_type, int blocks) {
  Options options;
  options.device = device;
  options.kernel = kernel;
  options.threads = threads;
  options.blocks = blocks;
  options.effort = measure ? Effort::measure : Effort::estimate;
  options.stream = reinterpret_cast<void*>(stream);
  if (!dst_type.empty()) {
    const Operand to(dst, dst_type, shape, std::move(dst_strides));
    const Operand from(src, src_type, std::move(shape), std::move(src_strides));
    const nb::gil_scoped_release released;
    return make_plan(to.view(), from.const_view(), gpu, options);
  }
  const nb::gil_scoped_release released;
  return make_plan(
      {dst, src, itemsize, std::move(shape), std::move(dst_strides), std::move(src_strides)}, gpu,
      options);
}

}  // namespace

void add_plans(nb::module_& module) {
  nb::class_<Plan>(module, "Plan", "A plan of the library.")
      .def_prop_ro("kernel", &Plan::kernel)
      .def_prop_ro("device", &Plan::device)
      .def_prop_ro("threads", &Plan::threads)
      .def_prop_ro("bytes", &Plan::bytes)
      .def_prop_ro("predicted_seconds", &Plan::predicted_seconds)
      .def("to_string", &Plan::to_string)
      .def("why", &Plan::why)
      .def("explain", &Plan::explain)
      .def("to_json", &Plan::to_json)
      .def(nb::self == nb::self, nb::sig("def __eq__(self, other: object, /) -> bool"));
  module.def("make_plan", make, "dst"_a, "src"_a, "itemsize"_a, "shape"_a, "dst_strides"_a,
             "src_strides"_a, "gpu"_a = host, "device"_a = "", "kernel"_a = "", "threads"_a = 0,
             "measure"_a = false, "stream"_a = 0, "dst_type"_a = "", "src_type"_a = "",
             "blocks"_a = 0,
             "The types are those between which values are converted; without them elements are "
             "moved.");
  module.def(
      "itemsize", [](const std::string& name) { return ElementType::parse(name).size(); },
      "dtype"_a, "Bytes of an element of a named type.");
  module.def("forget_plans", forget_plans);
  module.def("load_winners", load_winners, "path"_a);
  module.def("save_winners", save_winners, "path"_a);
}

}  // namespace cornerturn::python
