// What the public functions ask of the GPUs here, in plain C++ and in every build: a build without
// device code, or a machine without a driver, has host memory only.
#pragma once

#include <cstdint>
#include <vector>

#include "cuda/engine.hpp"
#include "plan/gpu/device_info.hpp"

namespace cornerturn::cuda {

/// Where a pointer leads.
struct Place {
  enum class Kind : std::uint8_t {
    host,     ///< also pinned memory, a null pointer, and what CUDA does not know
    device,   ///< memory of the GPU with the number `device`
    managed,  ///< moves between host and GPUs by itself
  };
  Kind kind = Kind::host;
  int device = 0;
};

/// Has this process loaded a driver? Before it has there is no device memory.
bool driver_is_loaded();

/// Asks the driver, if one is loaded. Creates no context. Throws Error(device_error) when the
/// driver's answer is an earlier error.
Place place_of(const void* pointer);

/// The number of the calling thread's current GPU. Throws Error(unsupported) with why_no_gpu().
int current_device();

/// What the planner needs to know of the current GPU, whose number is `device`; asked once. Throws
/// Error(unsupported) when this build has no code for it.
const plan::gpu::DeviceInfo& description_of(int device);

/// Seconds of one run of each plan on `stream`, the best of a few taken in turns; waits for them.
/// Each run solves the problem. Throws Error(unsupported) while the stream is being captured.
std::vector<double> seconds_of(const std::vector<plan::gpu::Plan>& plans, void* dst,
                               const void* src, Stream stream);

}  // namespace cornerturn::cuda
