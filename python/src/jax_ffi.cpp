#include "jax_ffi.hpp"

#include <exception>

#include "cornerturn/cornerturn.hpp"
#include "execute.hpp"
#include "xla/ffi/api/ffi.h"

namespace nb = nanobind;
namespace ffi = xla::ffi;

namespace cornerturn::python {
namespace {

// XLA's buffers are packed, row-major. An exception may not leave a handler.
ffi::Error transpose(ffi::AnyBuffer src, ffi::Span<const std::int64_t> axes, ffi::AnyBuffer dst,
                     int device, void* stream) {
  try {
    const auto extents = src.dimensions();
    const auto itemsize = static_cast<std::int64_t>(ffi::ByteWidth(src.element_type()));
    const Extents shape(extents.begin(), extents.end());
    const std::vector<int> permutation(axes.begin(), axes.end());
    Extents result_shape = permuted(shape, permutation);
    if (!std::ranges::equal(result_shape, dst.dimensions()) ||
        dst.element_type() != src.element_type()) {
      return ffi::Error::InvalidArgument("the result is not the operand with its axes permuted");
    }
    Extents dst_strides = packed_strides(result_shape, static_cast<int>(itemsize));
    Extents src_strides = permuted(packed_strides(shape, static_cast<int>(itemsize)), permutation);
    execute({reinterpret_cast<std::uintptr_t>(dst.untyped_data()),
             reinterpret_cast<std::uintptr_t>(src.untyped_data()), itemsize,
             std::move(result_shape), std::move(dst_strides), std::move(src_strides)},
            device, reinterpret_cast<std::uintptr_t>(stream));
    return ffi::Error::Success();
  } catch (const std::exception& error) {
    return ffi::Error::Internal(error.what());
  }
}

ffi::Error on_cpu(ffi::AnyBuffer src, ffi::Result<ffi::AnyBuffer> dst,
                  ffi::Span<const std::int64_t> axes) {
  return transpose(src, axes, *dst, host, nullptr);
}

XLA_FFI_DEFINE_HANDLER_SYMBOL(cornerturn_xla_cpu, on_cpu,
                              ffi::Ffi::Bind()
                                  .Arg<ffi::AnyBuffer>()
                                  .Ret<ffi::AnyBuffer>()
                                  .Attr<ffi::Span<const std::int64_t>>("axes"));

#ifdef CORNERTURN_CUDA
ffi::Error on_gpu(void* stream, std::int32_t device, ffi::AnyBuffer src,
                  ffi::Result<ffi::AnyBuffer> dst, ffi::Span<const std::int64_t> axes) {
  return transpose(src, axes, *dst, device, stream);
}

// One launch, no allocation, nothing waited for: XLA may capture it in a graph.
XLA_FFI_DEFINE_HANDLER_SYMBOL(cornerturn_xla_gpu, on_gpu,
                              ffi::Ffi::Bind()
                                  .Ctx<ffi::PlatformStream<void*>>()
                                  .Ctx<ffi::DeviceOrdinal>()
                                  .Arg<ffi::AnyBuffer>()
                                  .Ret<ffi::AnyBuffer>()
                                  .Attr<ffi::Span<const std::int64_t>>("axes"),
                              {ffi::Traits::kCmdBufferCompatible});
#endif

nb::dict jax_targets() {
  nb::dict targets;
  targets["cpu"] = nb::capsule(reinterpret_cast<void*>(cornerturn_xla_cpu));
#ifdef CORNERTURN_CUDA
  targets["CUDA"] = nb::capsule(reinterpret_cast<void*>(cornerturn_xla_gpu));
#endif
  return targets;
}

}  // namespace

void bind_jax(nb::module_& module) {
  module.def("jax_targets", jax_targets,
             "For each platform that this build serves, the handler that XLA calls, in a capsule.");
}

}  // namespace cornerturn::python
