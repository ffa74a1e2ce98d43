// CUDA's device memory: allocated, freed, registered and set.
#include <cstring>

#include "workshop/cuda_source/run/api.hpp"
#include "workshop/cuda_source/run/device_memory.hpp"
#include "workshop/cuda_source/run/findings.hpp"

namespace cornerturn::cuda_source {

namespace {

cudaError_t allocated(void** p, std::size_t bytes, MemoryKind kind, guest::Place place) {
  if (p == nullptr) {
    return leave_error(cudaErrorInvalidValue);
  }
  if (bytes == 0) {
    *p = nullptr;
    return cudaSuccess;
  }
  void* const memory = allocate_memory(bytes, kind, where_of(place));
  if (memory == nullptr) {
    return leave_error(cudaErrorMemoryAllocation);
  }
  *p = memory;
  return cudaSuccess;
}

cudaError_t freed(const char* call, void* p, bool pinned, guest::Place place) {
  if (p == nullptr) {
    return cudaSuccess;
  }
  const Allocation* const memory = find_memory(p);
  const std::string name = call;
  if (memory != nullptr && memory->alive && (memory->kind == MemoryKind::pinned) != pinned) {
    return misused("wrong_free",
                   name + " is given " + describe(*memory) + ", which " +
                       (pinned ? "cudaFree" : "cudaFreeHost") + " frees",
                   place, cudaErrorInvalidValue);
  }
  switch (free_memory(p, where_of(place))) {
    case Freed::done:
      return cudaSuccess;
    case Freed::twice:
      return misused("double_free", name + " is given memory that was freed before", place,
                     cudaErrorInvalidValue);
    case Freed::inside:
      return misused("wrong_free",
                     name + " is given an address inside of an array, not where it begins", place,
                     cudaErrorInvalidValue);
    default:
      return misused("wrong_free", name + " is given an address that is no device memory", place,
                     cudaErrorInvalidValue);
  }
}

cudaError_t set_rows(const char* call, void* p, std::size_t pitch, int value, std::size_t width,
                     std::size_t rows, guest::Place place) {
  if (width == 0 || rows == 0) {
    return cudaSuccess;
  }
  if (rows > 1 && pitch < width) {
    return leave_error(cudaErrorInvalidPitchValue);
  }
  const std::size_t bytes = (rows - 1) * pitch + width;
  const std::string why = why_unusable(p, bytes);
  if (!why.empty()) {
    return misused("out_of_bounds",
                   std::string(call) + " sets " + std::to_string(bytes) + " B, but " + why, place,
                   cudaErrorInvalidValue);
  }
  for (std::size_t row = 0; row < rows; ++row) {
    std::byte* const at = static_cast<std::byte*>(p) + row * pitch;
    std::memset(at, value, width);
    mark_written(at, width);
  }
  return cudaSuccess;
}

void find_memory_in_use() {
  for (const Allocation* memory : memory_in_use()) {
    add_host_finding("not_freed", true, describe(*memory) + " is never freed", memory->allocated);
  }
}

[[maybe_unused]] const bool in_use_at_end = (before_report(&find_memory_in_use), true);

// Rows of cudaMallocPitch begin at multiples of this.
constexpr std::size_t pitch_unit = 512;

}  // namespace

}  // namespace cornerturn::cuda_source

using namespace cornerturn::cuda_source;
using Place = cornerturn::guest::Place;

cudaError_t cudaMalloc(void** p, std::size_t bytes, Place place) {
  return allocated(p, bytes, MemoryKind::device, place);
}

cudaError_t cudaMallocManaged(void** p, std::size_t bytes, unsigned, Place place) {
  return allocated(p, bytes, MemoryKind::managed, place);
}

cudaError_t cudaMallocHost(void** p, std::size_t bytes, unsigned, Place place) {
  return allocated(p, bytes, MemoryKind::pinned, place);
}

cudaError_t cudaMallocPitch(void** p, std::size_t* pitch, std::size_t width, std::size_t height,
                            Place place) {
  if (pitch == nullptr) {
    return leave_error(cudaErrorInvalidValue);
  }
  *pitch = (width + pitch_unit - 1) / pitch_unit * pitch_unit;
  return allocated(p, *pitch * height, MemoryKind::device, place);
}

cudaError_t cudaMalloc3D(cudaPitchedPtr* p, cudaExtent extent, Place place) {
  p->xsize = extent.width;
  p->ysize = extent.height;
  return cudaMallocPitch(&p->ptr, &p->pitch, extent.width, extent.height * extent.depth, place);
}

cudaError_t cudaFree(void* p, Place place) {
  return freed("cudaFree", p, false, place);
}

cudaError_t cudaFreeHost(void* p, Place place) {
  return freed("cudaFreeHost", p, true, place);
}

// The device forgets all that it has.
cudaError_t cudaDeviceReset(Place place) {
  for (const Allocation* memory : memory_in_use()) {
    free_memory(memory->base, where_of(place));
  }
  return cudaDeviceSynchronize();
}

cudaError_t cudaMemset(void* p, int value, std::size_t bytes, Place place) {
  return set_rows("cudaMemset", p, bytes, value, bytes, 1, place);
}

cudaError_t cudaMemset2D(void* p, std::size_t pitch, int value, std::size_t width,
                         std::size_t height, Place place) {
  return set_rows("cudaMemset2D", p, pitch, value, width, height, place);
}

cudaError_t cudaMemset3D(cudaPitchedPtr p, int value, cudaExtent extent, Place place) {
  for (std::size_t layer = 0; layer < extent.depth; ++layer) {
    std::byte* const at = static_cast<std::byte*>(p.ptr) + layer * p.ysize * p.pitch;
    const cudaError_t error =
        set_rows("cudaMemset3D", at, p.pitch, value, extent.width, extent.height, place);
    if (error != cudaSuccess) {
      return error;
    }
  }
  return cudaSuccess;
}

cudaError_t cudaMemGetInfo(std::size_t* free, std::size_t* total) {
  *free = device_bytes_free();
  *total = device_bytes_total();
  return cudaSuccess;
}

cudaError_t cudaHostRegister(void* p, std::size_t bytes, unsigned) {
  register_host_memory(p, bytes, {});
  return cudaSuccess;
}

cudaError_t cudaHostUnregister(void* p) {
  return unregister_host_memory(p) ? cudaSuccess : leave_error(cudaErrorHostMemoryNotRegistered);
}

cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* p) {
  const Allocation* const memory = find_memory(p);
  void* const address = const_cast<void*>(p);
  *attributes = {cudaMemoryTypeUnregistered, 0, nullptr, address};
  if (memory == nullptr || !memory->alive) {
    return cudaSuccess;
  }
  const bool managed = memory->kind == MemoryKind::managed;
  const bool pinned = memory->kind == MemoryKind::pinned;
  attributes->type = pinned    ? cudaMemoryTypeHost
                     : managed ? cudaMemoryTypeManaged
                               : cudaMemoryTypeDevice;
  attributes->devicePointer = address;
  attributes->hostPointer = pinned || managed ? address : nullptr;
  return cudaSuccess;
}
