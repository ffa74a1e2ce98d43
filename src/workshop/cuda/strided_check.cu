#include "workshop/cuda/strided_check.hpp"

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdlib>
#include <numeric>

#include "cuda/device_buffer.hpp"
#include "workshop/cuda/ordinary_values.hpp"

namespace cornerturn::cuda {

namespace {

constexpr unsigned char poison_byte = 0xA5;
constexpr int threads = 256;

/// The elements of a problem, numbered in the order of the destination, as a kernel parameter.
struct Walk {
  std::int64_t count;
  std::int64_t src_offset;
  std::int64_t dst_offset;
  int element_bytes;
  int rank;
  Mode modes[ModeList::capacity];
};

struct Place {
  std::int64_t src;  ///< bytes from the start of the buffer
  std::int64_t dst;
};

__host__ __device__ Place place_of(const Walk& w, std::int64_t i) {
  Place at{w.src_offset, w.dst_offset};
  for (int k = w.rank - 1; k >= 0; --k) {
    const Mode& mode = w.modes[k];
    std::int64_t next = 0;
    if (((i | mode.extent) >> 32) == 0) {
      next = static_cast<std::uint32_t>(i) / static_cast<std::uint32_t>(mode.extent);
    } else {
      next = i / mode.extent;
    }
    const std::int64_t index = i - next * mode.extent;
    at.src += index * mode.src_stride;
    at.dst += index * mode.dst_stride;
    i = next;
  }
  return at;
}

__device__ std::int64_t first_index() {
  return std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
}
__device__ std::int64_t index_step() {
  return std::int64_t{gridDim.x} * blockDim.x;
}

/// Elements of 1, 2, 4 or 8 bytes.
template <class T>
struct Typed {
  static __device__ void fill(std::byte* data, std::int64_t element, int) {
    reinterpret_cast<T*>(data)[element] = ordinary_value<T>(static_cast<std::uint64_t>(element));
  }
  static __device__ T expected(const Place& at) {
    return ordinary_value<T>(static_cast<std::uint64_t>(at.src) / sizeof(T));
  }
  static __device__ void poison(std::byte* dst, const Place& at, int) {
    *reinterpret_cast<T*>(dst + at.dst) = static_cast<T>(~expected(at));
  }
  static __device__ bool right(const std::byte* dst, const Place& at, int) {
    return *reinterpret_cast<const T*>(dst + at.dst) == expected(at);
  }
  static __device__ void cover(std::byte* dst, const Place& at, int) {
    *reinterpret_cast<T*>(dst + at.dst) = static_cast<T>(0xA5A5A5A5A5A5A5A5ULL);
  }
};

/// Elements of any other size, byte by byte: words of 8 bytes, numbered through, the last one cut.
struct Wide {
  static __device__ unsigned char byte_of(std::int64_t element, int b, int size) {
    const auto word = static_cast<std::uint64_t>(element * ((size + 7) / 8) + b / 8);
    return static_cast<unsigned char>(golden_word(word) >> (8 * (b % 8)));
  }
  static __device__ void fill(std::byte* data, std::int64_t element, int size) {
    auto* out = reinterpret_cast<unsigned char*>(data) + element * size;
    for (int b = 0; b < size; ++b) out[b] = byte_of(element, b, size);
  }
  static __device__ void poison(std::byte* dst, const Place& at, int size) {
    auto* out = reinterpret_cast<unsigned char*>(dst) + at.dst;
    for (int b = 0; b < size; ++b) {
      out[b] = static_cast<unsigned char>(~byte_of(at.src / size, b, size));
    }
  }
  static __device__ bool right(const std::byte* dst, const Place& at, int size) {
    const auto* in = reinterpret_cast<const unsigned char*>(dst) + at.dst;
    for (int b = 0; b < size; ++b) {
      if (in[b] != byte_of(at.src / size, b, size)) return false;
    }
    return true;
  }
  static __device__ void cover(std::byte* dst, const Place& at, int size) {
    for (int b = 0; b < size; ++b) dst[at.dst + b] = std::byte{poison_byte};
  }
};

struct Found {
  unsigned long long count = 0;
  unsigned long long first = ~0ULL;
};

__device__ void note(Found* found, std::int64_t i) {
  atomicAdd(&found->count, 1ULL);
  atomicMin(&found->first, static_cast<unsigned long long>(i));
}

template <class Element>
__global__ void fill_kernel(std::byte* data, std::int64_t count, int size) {
  for (std::int64_t i = first_index(); i < count; i += index_step()) Element::fill(data, i, size);
}

template <class Element>
__global__ void poison_kernel(std::byte* dst, const __grid_constant__ Walk w) {
  for (std::int64_t i = first_index(); i < w.count; i += index_step()) {
    Element::poison(dst, place_of(w, i), w.element_bytes);
  }
}

template <class Element>
__global__ void compare_kernel(const std::byte* dst, const __grid_constant__ Walk w, Found* found) {
  for (std::int64_t i = first_index(); i < w.count; i += index_step()) {
    if (!Element::right(dst, place_of(w, i), w.element_bytes)) note(found, i);
  }
}

template <class Element>
__global__ void cover_kernel(std::byte* dst, const __grid_constant__ Walk w) {
  for (std::int64_t i = first_index(); i < w.count; i += index_step()) {
    Element::cover(dst, place_of(w, i), w.element_bytes);
  }
}

__global__ void stray_kernel(const std::byte* dst, std::int64_t bytes, Found* found) {
  constexpr std::uint64_t clean = 0xA5A5A5A5A5A5A5A5ULL;
  const auto* words = reinterpret_cast<const std::uint64_t*>(dst);
  for (std::int64_t w = first_index(); w < (bytes + 7) / 8; w += index_step()) {
    if (8 * w + 8 <= bytes && words[w] == clean) continue;
    for (std::int64_t b = 8 * w; b < min(8 * w + 8, bytes); ++b) {
      if (dst[b] != std::byte{poison_byte}) note(found, b);
    }
  }
}

unsigned blocks_for(std::int64_t count) {
  return static_cast<unsigned>(
      std::clamp<std::int64_t>((count + threads - 1) / threads, 1, 1 << 20));
}

template <class Call>
void with_element(int bytes, Call&& call) {
  switch (bytes) {
    case 1:
      return call(Typed<std::uint8_t>{});
    case 2:
      return call(Typed<std::uint16_t>{});
    case 4:
      return call(Typed<std::uint32_t>{});
    case 8:
      return call(Typed<std::uint64_t>{});
    default:
      return call(Wide{});
  }
}

Walk walk_of(const Problem& problem) {
  Walk w{};
  w.count = problem.elements();
  w.src_offset = problem.src_offset;
  w.dst_offset = problem.dst_offset;
  w.element_bytes = problem.dst_type.size();
  w.rank = problem.rank();
  std::copy(problem.modes.begin(), problem.modes.end(), w.modes);
  return w;
}

}  // namespace

void fill_with_ordinary_values(std::byte* data, std::int64_t bytes, int element_bytes,
                               Stream stream) {
  const std::int64_t count = bytes / element_bytes;
  with_element(element_bytes, [&]<class Element>(Element) {
    fill_kernel<Element><<<blocks_for(count), threads, 0, stream>>>(data, count, element_bytes);
  });
  check(cudaGetLastError(), "filling the source");
}

StridedCheck::StridedCheck(const Problem& problem) : problem_(problem) {
  std::stable_sort(problem_.modes.begin(), problem_.modes.end(), [](const Mode& a, const Mode& b) {
    return std::abs(a.dst_stride) > std::abs(b.dst_stride);
  });
}

void StridedCheck::poison(std::byte* dst, std::int64_t bytes, Stream stream) const {
  const Walk w = walk_of(problem_);
  check(cudaMemsetAsync(dst, poison_byte, static_cast<std::size_t>(bytes), stream),
        "poisoning the destination");
  with_element(w.element_bytes, [&]<class Element>(Element) {
    poison_kernel<Element><<<blocks_for(w.count), threads, 0, stream>>>(dst, w);
  });
  check(cudaGetLastError(), "poisoning the destination");
}

std::string StridedCheck::difference(std::byte* dst, std::int64_t bytes, Stream stream) const {
  const Walk w = walk_of(problem_);
  Found found[2];
  DeviceBuffer on_device(sizeof found);
  auto* at = reinterpret_cast<Found*>(on_device.get());
  check(cudaMemcpyAsync(at, found, sizeof found, cudaMemcpyHostToDevice, stream), "cudaMemcpy");
  with_element(w.element_bytes, [&]<class Element>(Element) {
    const unsigned blocks = blocks_for(w.count);
    compare_kernel<Element><<<blocks, threads, 0, stream>>>(dst, w, at);
    cover_kernel<Element><<<blocks, threads, 0, stream>>>(dst, w);
  });
  stray_kernel<<<blocks_for(bytes / 8 + 1), threads, 0, stream>>>(dst, bytes, at + 1);
  check(cudaGetLastError(), "checking the destination");
  check(cudaMemcpyAsync(found, at, sizeof found, cudaMemcpyDeviceToHost, stream), "cudaMemcpy");
  check(cudaStreamSynchronize(stream), "checking the destination");
  if (found[0].count > 0) {
    const Place place = place_of(w, static_cast<std::int64_t>(found[0].first));
    return "destination element " + std::to_string(place.dst / w.element_bytes) +
           " is not source element " + std::to_string(place.src / w.element_bytes) + "; " +
           std::to_string(found[0].count) + " of " + std::to_string(w.count) + " elements differ";
  }
  if (found[1].count > 0) {
    return "byte " + std::to_string(found[1].first) +
           " of the destination belongs to no element and was written, one of " +
           std::to_string(found[1].count);
  }
  return {};
}

}  // namespace cornerturn::cuda
