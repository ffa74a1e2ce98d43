// CUDA's copies between the host and the device: both ends are looked at before a byte is copied.
#include <algorithm>
#include <cstring>

#include "workshop/cuda_source/run/api.hpp"
#include "workshop/cuda_source/run/device_memory.hpp"

namespace cornerturn::cuda_source {

namespace {

struct Rows {
  std::size_t width, rows;
};
struct End {
  const void* p;
  std::size_t pitch;
  std::size_t bytes(Rows r) const { return (r.rows - 1) * pitch + r.width; }
};

const char* name_of(cudaMemcpyKind kind) {
  switch (kind) {
    case cudaMemcpyHostToHost:
      return "cudaMemcpyHostToHost";
    case cudaMemcpyHostToDevice:
      return "cudaMemcpyHostToDevice";
    case cudaMemcpyDeviceToHost:
      return "cudaMemcpyDeviceToHost";
    case cudaMemcpyDeviceToDevice:
      return "cudaMemcpyDeviceToDevice";
    default:
      return "cudaMemcpyDefault";
  }
}

bool device_writes(cudaMemcpyKind kind) {
  return kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice;
}
bool device_reads(cudaMemcpyKind kind) {
  return kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;
}

// Why one end of a copy is not what its kind says, as a clause; empty where it is. Managed and
// pinned memory may stand on both sides.
std::string wrong_side(const End& end, bool of_device, cudaMemcpyKind kind) {
  if (kind == cudaMemcpyDefault) {
    return {};
  }
  const Allocation* const memory = find_memory(end.p);
  if (of_device) {
    return memory == nullptr && !is_device_address(end.p) ? "is host memory" : "";
  }
  const bool both = memory != nullptr &&
                    (memory->kind == MemoryKind::managed || memory->kind == MemoryKind::pinned);
  return memory != nullptr && !both ? "is device memory" : "";
}

// What is wrong with one end, as a clause.
std::string wrong_end(const End& end, Rows rows, bool of_device, cudaMemcpyKind kind) {
  if (end.p == nullptr) {
    return "is a null pointer";
  }
  std::string wrong = wrong_side(end, of_device, kind);
  if (!wrong.empty()) {
    return wrong + ", but the copy's kind is " + name_of(kind);
  }
  if (find_memory(end.p) == nullptr && !is_device_address(end.p)) {
    return {};  // the host's own memory, whose size nobody knows
  }
  wrong = why_unusable(end.p, end.bytes(rows));
  return wrong.empty() ? wrong : "cannot hold them: " + wrong;
}

cudaError_t copy_rows(const char* call, End to, End from, Rows rows, cudaMemcpyKind kind,
                      guest::Place place) {
  if (rows.width == 0 || rows.rows == 0) {
    return cudaSuccess;
  }
  if (rows.rows > 1 && (to.pitch < rows.width || from.pitch < rows.width)) {
    return misused("wrong_pitch",
                   std::string(call) + " copies rows of " + std::to_string(rows.width) +
                       " B with a pitch of " + std::to_string(std::min(to.pitch, from.pitch)) +
                       " B: a pitch is at least as large as the row",
                   place, cudaErrorInvalidPitchValue);
  }
  for (const bool writes : {true, false}) {
    const End& end = writes ? to : from;
    const std::string wrong =
        wrong_end(end, rows, writes ? device_writes(kind) : device_reads(kind), kind);
    if (!wrong.empty()) {
      return misused("wrong_copy",
                     std::string(call) + " copies " + std::to_string(rows.width * rows.rows) +
                         " B, but the " + (writes ? "destination " : "source ") + wrong,
                     place, cudaErrorInvalidValue);
    }
  }
  for (std::size_t row = 0; row < rows.rows; ++row) {
    auto* const target = static_cast<std::byte*>(const_cast<void*>(to.p)) + row * to.pitch;
    const auto* const source = static_cast<const std::byte*>(from.p) + row * from.pitch;
    std::memmove(target, source, rows.width);
    copy_written(target, source, rows.width);
  }
  return cudaSuccess;
}

cudaError_t copy_symbol(const char* call, End to, End from, std::size_t size, std::size_t offset,
                        std::size_t bytes, cudaMemcpyKind kind, guest::Place place) {
  if (offset > size || bytes > size - offset) {
    return misused("wrong_copy",
                   std::string(call) + " copies " + std::to_string(bytes) + " B at byte " +
                       std::to_string(offset) + " of a variable of " + std::to_string(size) + " B",
                   place, cudaErrorInvalidValue);
  }
  return copy_rows(call, to, from, {bytes, 1}, kind, place);
}

}  // namespace

}  // namespace cornerturn::cuda_source

using namespace cornerturn::cuda_source;
using Place = cornerturn::guest::Place;

cudaError_t cudaMemcpy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind,
                       Place place) {
  return copy_rows("cudaMemcpy", {to, bytes}, {from, bytes}, {bytes, 1}, kind, place);
}

cudaError_t cudaMemcpy2D(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch,
                         std::size_t width, std::size_t height, cudaMemcpyKind kind, Place place) {
  return copy_rows("cudaMemcpy2D", {to, to_pitch}, {from, from_pitch}, {width, height}, kind,
                   place);
}

cudaError_t cudaMemcpy3D(const cudaMemcpy3DParms* p, Place place) {
  if (p->srcArray != nullptr || p->dstArray != nullptr) {
    cornerturn::guest::refuse("cudaMemcpy3D with a cudaArray");
  }
  const auto layer_at = [](const cudaPitchedPtr& end, const cudaPos& pos, std::size_t layer) {
    const std::size_t row = (pos.z + layer) * end.ysize + pos.y;
    return End{static_cast<std::byte*>(end.ptr) + row * end.pitch + pos.x, end.pitch};
  };
  for (std::size_t layer = 0; layer < p->extent.depth; ++layer) {
    const cudaError_t error = copy_rows("cudaMemcpy3D", layer_at(p->dstPtr, p->dstPos, layer),
                                        layer_at(p->srcPtr, p->srcPos, layer),
                                        {p->extent.width, p->extent.height}, p->kind, place);
    if (error != cudaSuccess) {
      return error;
    }
  }
  return cudaSuccess;
}

namespace cornerturn::guest {

cudaError_t copy_to_symbol(void* symbol, std::size_t size, const void* from, std::size_t bytes,
                           std::size_t offset, cudaMemcpyKind kind, Place place) {
  return copy_symbol("cudaMemcpyToSymbol", {static_cast<std::byte*>(symbol) + offset, bytes},
                     {from, bytes}, size, offset, bytes, kind, place);
}

cudaError_t copy_from_symbol(void* to, const void* symbol, std::size_t size, std::size_t bytes,
                             std::size_t offset, cudaMemcpyKind kind, Place place) {
  return copy_symbol("cudaMemcpyFromSymbol", {to, bytes},
                     {static_cast<const std::byte*>(symbol) + offset, bytes}, size, offset, bytes,
                     kind, place);
}

}  // namespace cornerturn::guest
