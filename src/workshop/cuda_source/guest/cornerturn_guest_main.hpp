// What the generated mains of `cornerturn check --kernel` and `--call` are made of: arrays that are
// filled on the host, or left unwritten, and one launch.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <initializer_list>
#include <tuple>
#include <type_traits>
#include <vector>

#include <cuda_runtime.h>

namespace cornerturn::guest {

/// A pointer that goes wherever a kernel takes one.
struct AnyPointer {
  void* at;
  template <class T>
  operator T*() const {
    return static_cast<T*>(at);
  }
};

/// Ends the program where the runtime's functions refuse something.
inline void expect(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return;
  std::fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(error));
  std::exit(1);
}

/// Values of which none is like its neighbours: from -1 to 1, or whole numbers from 0 to 99. With a
/// text in `value` they are all that number.
template <class T>
CT_GUEST_PLAIN std::vector<T> values_of(std::size_t count, int seed, const char* value) {
  std::vector<T> values(count);
  std::uint64_t state = 0x9e3779b97f4a7c15u * static_cast<std::uint64_t>(seed + 1);
  for (std::size_t i = 0; i < count; ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    const auto random = static_cast<std::uint32_t>(state >> 33);
    if (*value != '\0') {
      values[i] = static_cast<T>(static_cast<float>(std::atof(value)));
    } else if (std::is_integral<T>::value) {
      values[i] = static_cast<T>(static_cast<float>(random % 100));
    } else {
      values[i] = static_cast<T>(static_cast<float>(random) / 1073741824.0f - 1.0f);
    }
  }
  return values;
}

template <class T>
void fill(T* device, std::size_t count, int seed, const char* value) {
  if (std::is_same<T, bool>::value) {
    const std::vector<unsigned char> bytes(count, *value == '\0' || std::atof(value) != 0);
    expect(cudaMemcpy(device, bytes.data(), count, cudaMemcpyHostToDevice), "cudaMemcpy");
    return;
  }
  using Stored = std::conditional_t<std::is_same<T, bool>::value, unsigned char, T>;
  const std::vector<Stored> values = values_of<Stored>(count, seed, value);
  expect(cudaMemcpy(device, values.data(), count * sizeof(T), cudaMemcpyHostToDevice),
         "cudaMemcpy");
}

/// An array in device memory. An output is left as it is: nobody has written it.
template <class T>
class Array {
 public:
  Array(std::initializer_list<long long> extents, bool is_output, int seed, const char* value) {
    std::size_t count = 1;
    for (const long long extent : extents) count *= static_cast<std::size_t>(extent);
    expect(cudaMalloc(reinterpret_cast<void**>(&device_), count * sizeof(T)), "cudaMalloc");
    if (!is_output || *value != '\0') fill(device_, count, seed, value);
  }
  Array(const Array&) = delete;
  Array& operator=(const Array&) = delete;
  ~Array() { cudaFree(device_); }
  T* typed() const { return device_; }
  AnyPointer any() const { return {device_}; }

 private:
  T* device_ = nullptr;
};

template <class Call, class Tuple>
struct takes;
template <class Call, class... Arguments>
struct takes<Call, std::tuple<Arguments...>> : std::is_invocable<Call, Arguments...> {};

/// Launches the kernel with the arrays' own types where it takes them, else with pointers that go
/// anywhere.
template <class Call, class Typed, class Loose>
void run_kernel(Place place, const char* name, dim3 grid, dim3 block, std::size_t shared,
                const Call& call, const Typed& typed, const Loose& loose) {
  const auto launch_with = [&](auto... arguments) {
    launch_kernel(place, name, config(grid, block, shared), call, arguments...);
  };
  if (shared > 48 * 1024) allow_dynamic_shared(shared);
  if constexpr (takes<Call, Typed>::value) {
    std::apply(launch_with, typed);
  } else {
    static_assert(takes<Call, Loose>::value, "the kernel does not take these arguments");
    std::apply(launch_with, loose);
  }
}

inline int finish() {
  expect(cudaGetLastError(), "the launch");
  expect(cudaDeviceSynchronize(), "the kernel");
  return 0;
}

#ifdef CORNERTURN_GUEST_TORCH
template <class T, class Type>
torch::Tensor make_tensor(std::initializer_list<std::int64_t> extents, Type type, bool is_output,
                          int seed, const char* value) {
  torch::Tensor tensor =
      torch::empty(extents, torch::TensorOptions().dtype(type).device(torch::kCUDA));
  std::size_t count = 1;
  for (const std::int64_t extent : extents) count *= static_cast<std::size_t>(extent);
  if (!is_output || *value != '\0') fill(static_cast<T*>(tensor.data_ptr()), count, seed, value);
  return tensor;
}
#endif

}  // namespace cornerturn::guest
