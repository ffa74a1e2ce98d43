#include "convert.hpp"

#include "execute.hpp"
#include "operand.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace cornerturn::python {
namespace {

void convert(const Operand& dst, const Operand& src, const Epilogue& epilogue, int device,
             std::uintptr_t stream) {
  const nb::gil_scoped_release released;
  execute_converting(dst.view(), src.const_view(), epilogue, device, stream);
}

bool across(const Operand& dst, const Operand& src, const Epilogue& epilogue, int gpu,
            std::uintptr_t stream, bool waits, int blocks) {
  const nb::gil_scoped_release released;
  return convert_across(dst.view(), src.const_view(), epilogue, {gpu, stream, waits, blocks});
}

template <const float* Epilogue::*vector>
std::uintptr_t address(const Epilogue& epilogue) {
  return reinterpret_cast<std::uintptr_t>(epilogue.*vector);
}

template <const float* Epilogue::*vector>
void set_address(Epilogue& epilogue, std::uintptr_t to) {
  epilogue.*vector = reinterpret_cast<const float*>(to);
}

}  // namespace

void add_convert(nb::module_& module) {
  nb::class_<Epilogue>(module, "Epilogue",
                       "How values change. `scale` and `bias` are addresses of f32 values: one for "
                       "each index of an axis of\ndst, one for all with the axis -1, none with the "
                       "address 0.")
      .def(nb::init<>())
      .def_rw("alpha", &Epilogue::alpha)
      .def_rw("beta", &Epilogue::beta)
      .def_prop_rw("scale", address<&Epilogue::scale>, set_address<&Epilogue::scale>)
      .def_rw("scale_axis", &Epilogue::scale_mode)
      .def_prop_rw("bias", address<&Epilogue::bias>, set_address<&Epilogue::bias>)
      .def_rw("bias_axis", &Epilogue::bias_mode)
      .def_rw("conjugate", &Epilogue::conjugate)
      .def_prop_rw(
          "saturate", [](const Epilogue& it) { return it.overflow == Overflow::saturate; },
          [](Epilogue& it, bool saturate) {
            it.overflow = saturate ? Overflow::saturate : Overflow::standard;
          })
      .def_prop_rw(
          "stochastic", [](const Epilogue& it) { return it.rounding == Rounding::stochastic; },
          [](Epilogue& it, bool stochastic) {
            it.rounding = stochastic ? Rounding::stochastic : Rounding::nearest_even;
          })
      .def_rw("seed", &Epilogue::seed);
  module.def("convert", convert, "dst"_a, "src"_a, "epilogue"_a, "device"_a, "stream"_a,
             "dst[i] = epilogue(src[i]) between two operands of the same shape. `device` and "
             "`stream` as in\n`execute`. Releases the GIL.");
  module.def("convert_across", across, "dst"_a, "src"_a, "epilogue"_a, "gpu"_a, "stream"_a,
             "waits"_a, "blocks"_a = 0, "The same with the two operands as in `execute_across`.");
}

}  // namespace cornerturn::python
