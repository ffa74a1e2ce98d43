#include "workshop/cuda/kernel_rungs.hpp"

#include <cuda_runtime.h>

#include "cuda/check.hpp"
#include "kernels/gpu_context.cuh"
#include "workshop/rungs/registry.hpp"

namespace cornerturn::cuda {

namespace {

template <class Rung, class T>
inline constexpr int threads_of =
    static_cast<int>(Rung::launch(ladder::MatrixArgs<T>{}).block.count());

template <class Rung, class T>
__global__ void __launch_bounds__(threads_of<Rung, T>)
    rung_kernel(const __grid_constant__ ladder::MatrixArgs<T> args) {
  GpuContext ctx;
  Rung::run(ctx, args);
}

/// The same for other arguments: of a stack, or with types that change.
template <class Rung, class Args>
__global__ void __launch_bounds__(static_cast<int>(Rung::launch(Args{}).block.count()))
    args_kernel(const __grid_constant__ Args args) {
  GpuContext ctx;
  Rung::run(ctx, args);
}

template <class Rung, class T>
auto kernel_of(const ladder::MatrixArgs<T>&) {
  return &rung_kernel<Rung, T>;
}
template <class Rung, class Args>
auto kernel_of(const Args&) {
  return &args_kernel<Rung, Args>;
}

// More than 48 KiB of shared memory must be asked for, once.
template <class Rung, class Args>
auto ready_kernel(const Args& args, const Launch& launch) {
  const auto kernel = kernel_of<Rung>(args);
  if (launch.dynamic_shared > 48U * 1024U) {
    static const cudaError_t once =
        cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                             static_cast<int>(launch.dynamic_shared));
    check(once, std::string("shared memory of ") + Rung::name);
  }
  return kernel;
}

template <class Rung, class Args>
void launch_with(const Args& args, Stream stream) {
  const Launch launch = Rung::launch(args);
  if (launch.grid.count() == 0) return;
  const auto dim = [](const Dim3& d) { return dim3(d.x, d.y, d.z); };
  const auto kernel = ready_kernel<Rung>(args, launch);
  kernel<<<dim(launch.grid), dim(launch.block), launch.dynamic_shared, stream>>>(args);
}

template <class Rung, class T>
void launch(const DeviceMatrix& m, Stream stream) {
  ladder::with_args<Rung, T>(m.src, m.dst, m,
                             [&](const auto& args) { launch_with<Rung>(args, stream); });
}

template <class Rung, class T>
LaunchShape shape(const DeviceMatrix& m) {
  return ladder::with_args<Rung, T>(m.src, m.dst, m, [](const auto& args) -> LaunchShape {
    const Launch launch = Rung::launch(args);
    return {reinterpret_cast<const void*>(ready_kernel<Rung>(args, launch)),
            static_cast<std::int64_t>(launch.grid.count()), static_cast<int>(launch.block.count()),
            static_cast<int>(launch.dynamic_shared)};
  });
}

// Calls call(T{}) with the unsigned integer of the matrix's element size, if the rung takes it.
template <class Rung, class Call>
auto with_type(const DeviceMatrix& m, Call&& call) {
  using Result = decltype(call(std::uint32_t{}));
  const auto when_taken = [&](auto value) -> Result {
    if constexpr (Rung::template takes<decltype(value)>) return call(value);
    return Result();
  };
  switch (m.element_bytes) {
    case 1:
      return when_taken(std::uint8_t{});
    case 2:
      return when_taken(std::uint16_t{});
    case 4:
      return when_taken(std::uint32_t{});
    default:
      return when_taken(std::uint64_t{});
  }
}

template <class Rung>
bool convert(const DeviceMatrix& m, Kind src, Kind dst, Stream stream) {
  return ladder::with_cpy_types(src, dst, [&]<class S, class D>() {
    const auto args =
        Rung::template of_matrix<S, D>(static_cast<const kernels::Bits<S>*>(m.src),
                                       static_cast<kernels::Bits<D>*>(m.dst), m.rows, m.cols);
    launch_with<Rung>(args, stream);
  });
}

template <class Rung>
DeviceRung row() {
  DeviceRung row;
  if constexpr (ladder::Converts<Rung>) row.convert = &convert<Rung>;
  row.info.name = Rung::name;
  row.takes_stacks = ladder::TakesStacks<Rung, std::uint32_t>;
  row.why_not = [](const DeviceMatrix& m) -> std::string {
    try {
      with_type<Rung>(m, [&]<class T>(T) { return shape<Rung, T>(m); });
      return {};
    } catch (const Error& error) {
      return error.what();
    }
  };
  row.shape = [](const DeviceMatrix& m) {
    return with_type<Rung>(m, [&]<class T>(T) { return shape<Rung, T>(m); });
  };
  row.launch = [](const DeviceMatrix& m, Stream stream) {
    with_type<Rung>(m, [&]<class T>(T) { launch<Rung, T>(m, stream); });
  };
  return row;
}

}  // namespace

const std::vector<DeviceRung>& kernel_rungs() {
  static const std::vector<DeviceRung> rows = [] {
    std::vector<DeviceRung> list;
    ladder::for_each_rung([&]<class Rung>(Rung) { list.push_back(row<Rung>()); });
    return list;
  }();
  return rows;
}

}  // namespace cornerturn::cuda
