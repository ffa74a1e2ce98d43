// cornerturn._core: what the Python package calls.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "amax.hpp"
#include "blocks.hpp"
#include "cornerturn/cornerturn.hpp"
#include "execute.hpp"
#include "jax_ffi.hpp"
#include "memory.hpp"
#include "plan.hpp"
#include "quick.hpp"
#include "translate.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace cornerturn::python {
namespace {

using Numbers = std::vector<std::int64_t>;

void run(std::uintptr_t dst, std::uintptr_t src, std::int64_t itemsize, Numbers shape,
         Numbers dst_strides, Numbers src_strides, int device, std::uintptr_t stream) {
  const nb::gil_scoped_release released;
  execute({dst, src, itemsize, std::move(shape), std::move(dst_strides), std::move(src_strides)},
          device, stream);
}

void run_converting(std::uintptr_t dst, std::uintptr_t src, const std::string& dst_type,
                    const std::string& src_type, Numbers shape, Numbers dst_strides,
                    Numbers src_strides, double alpha, double beta, std::uintptr_t scale,
                    int scale_axis, std::uintptr_t bias, int bias_axis, bool conjugate,
                    bool saturate, bool stochastic, std::uint64_t seed, int device,
                    std::uintptr_t stream) {
  const nb::gil_scoped_release released;
  Epilogue epilogue;
  epilogue.alpha = alpha;
  epilogue.beta = beta;
  epilogue.scale = reinterpret_cast<const float*>(scale);
  epilogue.scale_mode = scale_axis;
  epilogue.bias = reinterpret_cast<const float*>(bias);
  epilogue.bias_mode = bias_axis;
  epilogue.conjugate = conjugate;
  epilogue.overflow = saturate ? Overflow::saturate : Overflow::standard;
  epilogue.rounding = stochastic ? Rounding::stochastic : Rounding::nearest_even;
  epilogue.seed = seed;
  const auto of = ElementType::parse(src_type);
  execute_converting(
      {dst, src, of.size(), std::move(shape), std::move(dst_strides), std::move(src_strides)},
      ElementType::parse(dst_type), of, epilogue, device, stream);
}

}  // namespace

NB_MODULE(_core, module) {
  nb::register_exception_translator(translate);
  module.def("version", version, "The version of the library.");
  module.def(
      "has_cuda",
      [] {
#ifdef CORNERTURN_CUDA
        return true;
#else
        return false;
#endif
      },
      "Is device code part of this build?");
  module.def("execute", run, "dst"_a, "src"_a, "itemsize"_a, "shape"_a, "dst_strides"_a,
             "src_strides"_a, "device"_a = host, "stream"_a = 0,
             "Copies between two views of the same shape. Addresses are integers, strides are in "
             "bytes.\n\n`device` is -1 for host memory, else the number of a GPU; `stream` is a "
             "cudaStream_t as an\ninteger. Releases the GIL.");
  module.def(
      "execute_converting", run_converting, "dst"_a, "src"_a, "dst_type"_a, "src_type"_a, "shape"_a,
      "dst_strides"_a, "src_strides"_a, "alpha"_a = 1.0, "beta"_a = 0.0, "scale"_a = 0,
      "scale_axis"_a = -1, "bias"_a = 0, "bias_axis"_a = -1, "conjugate"_a = false,
      "saturate"_a = false, "stochastic"_a = false, "seed"_a = 0, "device"_a = host, "stream"_a = 0,
      "The same with values that change. `scale` and `bias` are addresses of f32 values, one "
      "for each\nindex of an axis of dst, one for all with the axis -1; 0: none.");
  bind_jax(module);
  module.def("quick_transpose", quick_transpose, "x"_a.none(), "axes"_a.none(), "out"_a.none(),
             "The permuted copy of a plain NumPy array or PyTorch tensor; None for all else.");
  module.def("quick_convert", quick_convert, "x"_a.none(), "axes"_a.none(), "out"_a.none(),
             "dtype"_a, "The same of a plain NumPy array, whose values are converted to `dtype`.");
  module.def("gpu_of", gpu_of, "address"_a,
             "The number of the GPU in whose memory an address lies, -1 for host memory.");
  module.def("synchronize", synchronize, "device"_a, "stream"_a,
             "Waits until a stream has done its work.");
  nb::class_<Memory>(module, "Memory", "An array of somebody else. Strides are in bytes.")
      .def_static("from_dlpack", &Memory::from_dlpack, "capsule"_a)
      .def_static("from_buffer", &Memory::from_buffer, "object"_a)
      .def_ro("address", &Memory::address)
      .def_ro("itemsize", &Memory::itemsize)
      .def_ro("shape", &Memory::shape)
      .def_ro("strides", &Memory::strides)
      .def_ro("device", &Memory::device)
      .def_ro("readonly", &Memory::readonly)
      .def_ro("dtype", &Memory::dtype);
  add_plans(module);
  add_amax(module);
  add_blocks(module);
}

}  // namespace cornerturn::python
