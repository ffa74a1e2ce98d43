// Where a pointer leads: asked of the CUDA driver that the process has loaded, in every build. A
// library without device code must not take the GPU's memory for the host's either.
#pragma once

#include <cstdint>
#include <optional>

namespace cornerturn::cuda {

struct Place {
  enum class Kind : std::uint8_t {
    host,     ///< also a null pointer, and what CUDA does not know
    device,   ///< memory of the GPU with the number `device`
    managed,  ///< moves between host and GPUs by itself
  };
  Kind kind = Kind::host;
  int device = 0;
  bool pinned = false;  ///< of the host, and GPUs reach it as it is
};

/// Has this process loaded a driver? Before it has there is no device memory. Costs some ten
/// nanoseconds.
bool driver_is_loaded();

/// Creates no context, as asking the runtime would. Throws Error(device_error) when the driver's
/// answer is an earlier error.
Place place_of(const void* pointer);

/// The cudaMemPool_t that the pointer's memory is from; null for other memory.
void* pool_of(const void* pointer);

/// The number of the GPU of the calling thread's context, which the driver's interface or any copy
/// of the runtime may have set; nothing if it has none.
std::optional<int> device_of_context();

}  // namespace cornerturn::cuda
