// cornerturn._core: what the Python package calls.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "amax.hpp"
#include "arrow.hpp"
#include "blocks.hpp"
#include "convert.hpp"
#include "cornerturn/cornerturn.hpp"
#include "execute.hpp"
#include "files.hpp"
#include "in_place.hpp"
#include "jax_ffi.hpp"
#include "lists.hpp"
#include "memory.hpp"
#include "operand.hpp"
#include "plan.hpp"
#include "quick.hpp"
#include "quick_first.hpp"
#include "shards.hpp"
#include "threads.hpp"
#include "torch_copies.hpp"
#include "translate.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace cornerturn::python {
namespace {

using Numbers = std::vector<std::int64_t>;

void run(std::uintptr_t dst, std::uintptr_t src, std::int64_t itemsize, Numbers shape,
         Numbers dst_strides, Numbers src_strides, int device, std::uintptr_t stream) {
  const nb::gil_scoped_release released;
  execute_in_pieces(
      {dst, src, itemsize, std::move(shape), std::move(dst_strides), std::move(src_strides)},
      device, stream);
}

bool run_across(std::uintptr_t dst, std::uintptr_t src, std::int64_t itemsize, Numbers shape,
                Numbers dst_strides, Numbers src_strides, int gpu, std::uintptr_t stream,
                bool waits, int blocks) {
  const nb::gil_scoped_release released;
  return execute_across(
      {dst, src, itemsize, std::move(shape), std::move(dst_strides), std::move(src_strides)},
      {gpu, stream, waits, blocks});
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
  module.def("execute_across", run_across, "dst"_a, "src"_a, "itemsize"_a, "shape"_a,
             "dst_strides"_a, "src_strides"_a, "gpu"_a, "stream"_a, "waits"_a, "blocks"_a = 0,
             "The same where one side lies in host memory, and the other one on `gpu`. `waits` for "
             "the stream.\n\nTrue: the GPU may still reach for the host's memory, which is pinned: "
             "keep() it.");
  add_operand(module);
  add_convert(module);
  bind_jax(module);
  module.def("quick_transpose", quick_transpose, "x"_a.none(), "axes"_a.none(), "out"_a.none(),
             "dtype"_a = nb::none(),
             "The permuted copy of a plain NumPy array or PyTorch tensor; None for all else. "
             "With a `dtype` of\nNumPy's, the values of a NumPy array are converted to it.");
  module.def("quick_convert", quick_convert, "x"_a.none(), "axes"_a.none(), "out"_a.none(),
             "dtype"_a.none(), "alpha"_a,
             "quick_transpose, with the values of a NumPy array multiplied by `alpha`.");
  module.def(
      "quick_interleave", quick_interleave, "arrays"_a, "numbers"_a, "rows"_a, "row"_a, "shape"_a,
      "A new array in which plain packed NumPy arrays or PyTorch tensors of host memory take "
      "turns, as\n`interleave` says it. `numbers` are those of the arrays in the order of "
      "their turns. None for all else.");
  add_quick_first(module);
  module.def("check_signals_every", check_signals_every, "bytes"_a,
             "Sets after how many bytes a long call on the CPU looks for Ctrl-C. Returns what was "
             "set before.");
  module.def("gpu_of", gpu_of, "address"_a,
             "The number of the GPU in whose memory an address lies, -1 for host memory.");
  module.def("gpu_count", gpu_count, "How many GPUs are here; a RuntimeError where there is none.");
  module.def("current_gpu", current_gpu, "The number of this thread's current GPU.");
  module.def("keep", keep, "object"_a, "device"_a, "stream"_a,
             "Keeps an object alive until a stream has done what it has to do now.");
  module.def("synchronize", synchronize, "device"_a, "stream"_a,
             "Waits until a stream has done its work.");
  nb::class_<Memory>(module, "Memory", "An array of somebody else. Strides are in bytes.")
      .def_static("from_dlpack", &Memory::from_dlpack, "capsule"_a.none())
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
  bind_arrow(module);
  bind_lists(module);
  add_in_place(module);
  add_blocks(module);
  add_threads(module);
  add_torch_copies(module);
  add_files(module);
  add_shards(module);
}

}  // namespace cornerturn::python
