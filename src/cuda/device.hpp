// The GPUs here, in plain C++: no CUDA types, and callable in every build.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace cornerturn::cuda {

/// Nothing if kernels can be launched on the current GPU; otherwise one line that says why not: a
/// build without device code, no driver, a driver that is too old, no GPU, or a GPU this build has
/// no code for.
std::optional<std::string> why_no_gpu();

/// What the driver takes a millisecond to tell.
struct Clocks {
  double sm_hz = 0;             ///< the highest of an SM
  double memory_bandwidth = 0;  ///< bytes a second, nominal; 0 where the driver does not say
};

struct DeviceInfo {
  std::string name;
  int major = 0;  ///< of the compute capability
  int minor = 0;
  int sm_count = 0;
  std::int64_t l2_bytes = 0;
  std::int64_t memory_bytes = 0;
  std::int64_t free_bytes = 0;        ///< of the memory, when asked
  int threads_per_sm = 0;             ///< that can be resident
  int blocks_per_sm = 0;              ///< that can be resident
  int registers_per_sm = 0;           ///< of 32 bits
  std::int64_t shared_per_sm = 0;     ///< bytes
  std::int64_t shared_per_block = 0;  ///< bytes, when asked for
  Clocks clocks;
  std::string driver;   ///< the CUDA version the driver supports, as `13.0`
  std::string runtime;  ///< the CUDA version of this build
};

Clocks clocks_of(int device);

/// How many the driver sees.
int device_count();

/// The current GPU. Throws Error(unsupported) with why_no_gpu().
DeviceInfo device_info();
/// GPU number `device`, whether this build has code for it or not; without its free memory, which
/// only the current one tells.
DeviceInfo device_info(int device);
/// What device_info() says but for the clocks.
DeviceInfo device_info_without_clocks(int device);

}  // namespace cornerturn::cuda
