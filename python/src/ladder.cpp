// cornerturn._ladder: the rungs of the ladder, on a GPU and in the emulator.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "cornerturn/error.hpp"
#include "translate.hpp"
#include "workshop/cuda/device_rung.hpp"
#include "workshop/ladder/emulate.hpp"
#include "workshop/ladder/rung.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace cornerturn::python {
namespace {

const ladder::Rung& rung_named(const std::string& name) {
  if (const ladder::Rung* rung = ladder::find_rung(name)) return *rung;
  throw Error(Status::invalid_argument, "rung = '" + name + "' is unknown");
}

using RungTuple = std::tuple<std::string, std::string, std::string, bool, bool>;

std::vector<RungTuple> rungs() {
  std::vector<RungTuple> list;
  for (const ladder::Rung& rung : ladder::rungs()) {
    const bool cute = rung.family == ladder::Family::cute;
    list.emplace_back(rung.name, rung.shows, cute ? "cute" : "cuda", rung.transposes,
                      rung.convert != nullptr);
  }
  return list;
}

std::optional<std::string> why_not(const std::string& name, std::int64_t rows, std::int64_t cols,
                                   int itemsize, std::int64_t batch, bool fused) {
  return ladder::why_not(rung_named(name), ladder::make_matrix(rows, cols, itemsize, batch, fused));
}

ladder::Conversion conversion(const std::string& src, const std::string& dst) {
  return {ElementType::parse(src), ElementType::parse(dst)};
}

std::optional<std::string> why_not_convert(const std::string& name, const std::string& src,
                                           const std::string& dst) {
  return ladder::why_not(rung_named(name), conversion(src, dst));
}

// Where there is a GPU it is the arguments that a rung does not take.
template <class Call>
void on_gpu(const Call& call) {
  try {
    call();
  } catch (const Error& error) {
    if (error.status() != Status::unsupported || cuda::why_no_gpu()) throw;
    throw Error(Status::invalid_argument, error.what());
  }
}

void launch(const std::string& name, std::uintptr_t src, std::uintptr_t dst, std::int64_t rows,
            std::int64_t cols, int itemsize, int device, std::uintptr_t stream, std::int64_t batch,
            bool fused) {
  const nb::gil_scoped_release released;
  const cuda::DeviceMatrix matrix{reinterpret_cast<const void*>(src),
                                  reinterpret_cast<void*>(dst),
                                  rows,
                                  cols,
                                  itemsize,
                                  batch,
                                  fused};
  on_gpu([&] { cuda::run_rung(name, matrix, device, reinterpret_cast<cuda::Stream>(stream)); });
}

void launch_converting(const std::string& name, std::uintptr_t src, std::uintptr_t dst,
                       std::int64_t rows, std::int64_t cols, const std::string& src_type,
                       const std::string& dst_type, int device, std::uintptr_t stream) {
  const nb::gil_scoped_release released;
  const ladder::Conversion types = conversion(src_type, dst_type);
  const cuda::DeviceMatrix matrix{reinterpret_cast<const void*>(src), reinterpret_cast<void*>(dst),
                                  rows, cols, types.src.size()};
  on_gpu([&] {
    cuda::run_converting_rung(name, matrix, types.src, types.dst, device,
                              reinterpret_cast<cuda::Stream>(stream));
  });
}

void emulate(const std::string& name, std::uintptr_t src, std::uintptr_t dst, std::int64_t rows,
             std::int64_t cols, int itemsize, std::int64_t batch, bool fused) {
  const nb::gil_scoped_release released;
  ladder::emulate(rung_named(name), ladder::make_matrix(rows, cols, itemsize, batch, fused),
                  reinterpret_cast<const void*>(src), reinterpret_cast<void*>(dst));
}

void emulate_converting(const std::string& name, std::uintptr_t src, std::uintptr_t dst,
                        std::int64_t rows, std::int64_t cols, const std::string& src_type,
                        const std::string& dst_type) {
  const nb::gil_scoped_release released;
  ladder::emulate(rung_named(name), rows, cols, conversion(src_type, dst_type),
                  reinterpret_cast<const void*>(src), reinterpret_cast<void*>(dst));
}

}  // namespace

NB_MODULE(_ladder, module) {
  nb::register_exception_translator(translate);
  module.def("rungs", rungs,
             "All rungs in the order of the climb: (name, shows, family, transposes, converts).");
  module.def("why_no_gpu", cuda::why_no_gpu, "Why no kernel can run on a GPU here, or None.");
  module.def("why_no_cute", cuda::why_no_cute,
             "Why this build has no code of the CuTe rungs; empty if it has.");
  module.def(
      "why_not", why_not, "rung"_a, "rows"_a, "cols"_a, "itemsize"_a, "batch"_a = 1,
      "fused"_a = false,
      "Why the rung does not apply to a stack of such matrices, or None. Fused: the source has "
      "row 0 of each matrix, then row 1 of each.");
  module.def("launch", launch, "rung"_a, "src"_a, "dst"_a, "rows"_a, "cols"_a, "itemsize"_a,
             "device"_a, "stream"_a, "batch"_a = 1, "fused"_a = false,
             "Enqueues one launch between two addresses in the memory of a GPU.");
  module.def("emulate", emulate, "rung"_a, "src"_a, "dst"_a, "rows"_a, "cols"_a, "itemsize"_a,
             "batch"_a = 1, "fused"_a = false,
             "Runs the rung on the CPU between two addresses of the host, and checks it.");
  module.def("why_not_convert", why_not_convert, "rung"_a, "src_type"_a, "dst_type"_a,
             "Why the rung cannot change elements of one type into those of another, or None.");
  module.def("launch_converting", launch_converting, "rung"_a, "src"_a, "dst"_a, "rows"_a, "cols"_a,
             "src_type"_a, "dst_type"_a, "device"_a, "stream"_a,
             "launch(), with elements that change their type.");
  module.def("emulate_converting", emulate_converting, "rung"_a, "src"_a, "dst"_a, "rows"_a,
             "cols"_a, "src_type"_a, "dst_type"_a,
             "emulate(), with elements that change their type.");
}

}  // namespace cornerturn::python
