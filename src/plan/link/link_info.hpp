// What planning needs to know where one side of a problem lies in host memory and the other one on
// a GPU: plain structs, so that plans can be made and tested for machines that are not there.
#pragma once

#include <cstdint>
#include <utility>

#include "core/problem.hpp"
#include "plan/cpu/cpu_info.hpp"
#include "plan/gpu/device_info.hpp"

namespace cornerturn::plan {

/// Which way data go between the host and a GPU, and who reaches what. It is part of what a plan is
/// asked for.
struct Crossing {
  enum class Way : std::uint8_t { none, into_gpu, out_of_gpu };

  Way way = Way::none;
  bool pinned = false;  ///< the GPU reaches the host's side, by its own loads and stores as well
  bool cpu_reaches_vectors = true;  ///< scale and bias, where there are any
  bool gpu_reaches_vectors = true;
  /// The work becomes a part of a graph: only what the GPU does alone can.
  bool captured = false;
  /// Kernels that reach over the link have at most so many blocks. 0: any number.
  int blocks = 0;

  explicit operator bool() const { return way != Way::none; }
  bool into_gpu() const { return way == Way::into_gpu; }

  friend bool operator==(const Crossing&, const Crossing&) = default;
};

namespace link {

struct LinkInfo {
  gpu::DeviceInfo gpu;
  CpuInfo cpu;
  int threads = 1;  ///< of the CPU, at most so many
  std::int64_t ring_bytes =
      64 << 20;  ///< pinned memory of the library, on whose slots the CPU packs
  Crossing crossing;

  bool into_gpu() const { return crossing.into_gpu(); }
  /// Bytes a second of the copy engine, and of kernels that reach over the link.
  double engine_rate() const { return into_gpu() ? gpu.link.into : gpu.link.out; }
  double kernel_rate() const {
    return engine_rate() * (into_gpu() ? gpu.link.kernel_into : gpu.link.kernel_out);
  }
  /// A mode's stride on the host's side, and on the GPU's.
  std::int64_t host_stride(const Mode& mode) const {
    return into_gpu() ? mode.src_stride : mode.dst_stride;
  }
  std::int64_t gpu_stride(const Mode& mode) const {
    return into_gpu() ? mode.dst_stride : mode.src_stride;
  }

  friend bool operator==(const LinkInfo&, const LinkInfo&) = default;
};

}  // namespace link
}  // namespace cornerturn::plan
