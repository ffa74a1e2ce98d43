#include "amax.hpp"

#include "cornerturn/cornerturn.hpp"
#include "execute.hpp"
#include "operand.hpp"
#include "threads.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace cornerturn::python {
namespace {

Options on_stream(std::uintptr_t stream) {
  Options options;
  options.threads = thread_limit();
  options.stream = reinterpret_cast<void*>(stream);
  return options;
}

double amax_of(const Operand& src, int device, std::uintptr_t stream) {
  const nb::gil_scoped_release released;
  double found = 0;
  on_device(device, [&] { found = amax(src.const_view(), on_stream(stream)); });
  return found;
}

double quantise_whole(const Operand& dst, const Operand& src, int device, std::uintptr_t stream) {
  const nb::gil_scoped_release released;
  double scale = 0;
  on_device(device,
            [&] { scale = quantise_tensor(dst.view(), src.const_view(), on_stream(stream)); });
  return scale;
}

}  // namespace

void add_amax(nb::module_& module) {
  module.def("amax", amax_of, "src"_a, "device"_a, "stream"_a);
  module.def("quantise_tensor", quantise_whole, "dst"_a, "src"_a, "device"_a, "stream"_a);
}

}  // namespace cornerturn::python
