#include "workshop/cuda/reference.hpp"

#include <cuda_runtime.h>

#include <algorithm>
#include <array>

namespace cornerturn::cuda {

namespace {

constexpr unsigned char guard_byte = 0xC3;
constexpr int threads = 256;

/// What element `i` of the source is. One to one in the low 32 bits for 4 bytes, in all 64 for 8.
template <class T>
__host__ __device__ T value_at(std::int64_t i) {
  const auto number = static_cast<std::uint64_t>(i);
  if constexpr (sizeof(T) == 8) {
    std::uint64_t x = number * 0x9e3779b97f4a7c15ULL + 0x632be59bd9b4e019ULL;
    x ^= x >> 32;
    x *= 0xd6e8feb86659fd93ULL;
    return x ^ (x >> 32);
  } else {
    auto x = static_cast<std::uint32_t>(number) + 0x7f4a7c15U;
    x ^= x >> 16;
    x *= 0x85ebca6bU;
    x ^= x >> 13;
    x *= 0xc2b2ae35U;
    x ^= x >> 16;
    x ^= static_cast<std::uint32_t>(number >> 32) * 0x9e3779b1U;
    return static_cast<T>(x);
  }
}

__host__ __device__ std::int64_t count_of(const DeviceMatrix& m) {
  return m.batch * m.rows * m.cols;
}

/// Where element `i` of the output comes from.
__host__ __device__ std::int64_t source_of(std::int64_t i, const DeviceMatrix& m, bool transposes) {
  if (!transposes) return i;
  const std::int64_t matrix = i / (m.rows * m.cols);
  const std::int64_t within = i % (m.rows * m.cols);
  const std::int64_t col = within / m.rows;  // the output's rows are the source's columns
  const std::int64_t row = within % m.rows;
  return (m.fused ? row * m.batch + matrix : matrix * m.rows + row) * m.cols + col;
}

__device__ void note(Found* found, std::int64_t i) {
  atomicAdd(&found->count, 1ULL);
  atomicMin(&found->first, static_cast<unsigned long long>(i));
}

__device__ std::int64_t first_index() {
  return std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
}
__device__ std::int64_t index_step() {
  return std::int64_t{gridDim.x} * blockDim.x;
}

template <class T>
__global__ void fill_kernel(T* to, std::int64_t count) {
  for (std::int64_t i = first_index(); i < count; i += index_step()) to[i] = value_at<T>(i);
}

template <class T>
__global__ void poison_kernel(T* to, DeviceMatrix m, bool transposes) {
  for (std::int64_t i = first_index(); i < count_of(m); i += index_step()) {
    to[i] = static_cast<T>(~value_at<T>(source_of(i, m, transposes)));
  }
}

template <class T>
__global__ void compare_kernel(const T* out, DeviceMatrix m, bool transposes, Found* found) {
  for (std::int64_t i = first_index(); i < count_of(m); i += index_step()) {
    if (out[i] != value_at<T>(source_of(i, m, transposes))) note(found, i);
  }
}

__global__ void compare_guard_kernel(const unsigned char* guard, std::int64_t bytes, Found* found) {
  for (std::int64_t i = first_index(); i < bytes; i += index_step()) {
    if (guard[i] != guard_byte) note(found, i);
  }
}

unsigned blocks_for(std::int64_t count) {
  return static_cast<unsigned>(std::clamp<std::int64_t>((count + threads - 1) / threads, 1, 65535));
}

template <class Call>
void with_element(int bytes, Call&& call) {
  if (bytes == 1) call(std::uint8_t{});
  if (bytes == 2) call(std::uint16_t{});
  if (bytes == 4) call(std::uint32_t{});
  if (bytes == 8) call(std::uint64_t{});
}

void set_guards(const GuardedMatrix& m, Stream stream) {
  const auto set = [stream](std::byte* to, std::int64_t bytes) {
    if (bytes == 0) return;
    check(cudaMemsetAsync(to, guard_byte, static_cast<std::size_t>(bytes), stream), "cudaMemset");
  };
  set(m.begin(), m.before());
  set(m.data() + m.payload(), m.after());
}

}  // namespace

GuardedMatrix::GuardedMatrix(std::int64_t payload, std::int64_t guard, std::int64_t shift,
                             std::int64_t spare)
    : memory_(guard + shift + payload + std::max(guard, spare)),
      before_(guard + shift),
      after_(guard),
      payload_(payload) {}

void fill_source(const GuardedMatrix& src, int element_bytes, Stream stream) {
  set_guards(src, stream);
  const std::int64_t count = src.payload() / element_bytes;
  with_element(element_bytes, [&]<class T>(T) {
    fill_kernel<<<blocks_for(count), threads, 0, stream>>>(reinterpret_cast<T*>(src.data()), count);
  });
  check(cudaGetLastError(), "filling the source");
}

void poison(const GuardedMatrix& dst, const DeviceMatrix& m, bool transposes, Stream stream) {
  set_guards(dst, stream);
  with_element(m.element_bytes, [&]<class T>(T) {
    poison_kernel<<<blocks_for(count_of(m)), threads, 0, stream>>>(static_cast<T*>(m.dst), m,
                                                                   transposes);
  });
  check(cudaGetLastError(), "poisoning the output");
}

std::array<Found, part_count> compare(const GuardedMatrix& src, const GuardedMatrix& dst,
                                      const DeviceMatrix& m, bool transposes, Stream stream) {
  const std::int64_t count = count_of(m);
  std::array<Found, part_count> found;
  DeviceBuffer on_device(sizeof found);
  auto* at = reinterpret_cast<Found*>(on_device.get());
  check(cudaMemcpyAsync(at, found.data(), sizeof found, cudaMemcpyHostToDevice, stream),
        "cudaMemcpy");
  with_element(m.element_bytes, [&]<class T>(T) {
    const unsigned blocks = blocks_for(count);
    compare_kernel<<<blocks, threads, 0, stream>>>(static_cast<const T*>(m.dst), m, transposes,
                                                   at + output);
    compare_kernel<<<blocks, threads, 0, stream>>>(static_cast<const T*>(m.src), m, false,
                                                   at + source);
  });
  const auto guard = [&](const std::byte* from, std::int64_t bytes, Part part) {
    compare_guard_kernel<<<blocks_for(bytes), threads, 0, stream>>>(
        reinterpret_cast<const unsigned char*>(from), bytes, at + part);
  };
  guard(src.begin(), src.before(), before_source);
  guard(src.data() + src.payload(), src.after(), after_source);
  guard(dst.begin(), dst.before(), before_output);
  guard(dst.data() + dst.payload(), dst.after(), after_output);
  check(cudaGetLastError(), "checking the output");
  check(cudaMemcpyAsync(found.data(), at, sizeof found, cudaMemcpyDeviceToHost, stream),
        "cudaMemcpy");
  check(cudaStreamSynchronize(stream), "checking the output");
  return found;
}

std::uint64_t source_value(std::int64_t i, int element_bytes) {
  std::uint64_t value = 0;
  with_element(element_bytes, [&]<class T>(T) { value = value_at<T>(i); });
  return value;
}

std::int64_t source_index(std::int64_t i, const DeviceMatrix& m, bool transposes) {
  return source_of(i, m, transposes);
}

}  // namespace cornerturn::cuda
