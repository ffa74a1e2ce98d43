// Arrays for the programs of this folder: the GPU's memory, filled from a function of the index, so
// that every run makes the same accesses.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <vector>

inline void must(cudaError_t error) {
  if (error == cudaSuccess) return;
  std::fprintf(stderr, "%s\n", cudaGetErrorString(error));
  std::exit(1);
}

inline unsigned mixed(unsigned x) {
  x = (x ^ (x >> 16)) * 0x7feb352du;
  x = (x ^ (x >> 15)) * 0x846ca68bu;
  return x ^ (x >> 16);
}

inline std::vector<void*>& arrays() {
  static std::vector<void*> all;
  return all;
}

template <class T, class Value>
T* filled(std::size_t count, Value value) {
  std::vector<T> host(count);
  for (std::size_t i = 0; i < count; ++i) host[i] = value(static_cast<unsigned>(i));
  T* device = nullptr;
  must(cudaMalloc(&device, count * sizeof(T)));
  must(cudaMemcpy(device, host.data(), count * sizeof(T), cudaMemcpyHostToDevice));
  arrays().push_back(device);
  return device;
}

template <class T>
T* zeros(std::size_t count) {
  T* device = nullptr;
  must(cudaMalloc(&device, count * sizeof(T)));
  must(cudaMemset(device, 0, count * sizeof(T)));
  arrays().push_back(device);
  return device;
}

inline float* floats(std::size_t count) {
  return filled<float>(count, [](unsigned i) { return float(mixed(i) % 2000) / 1000.0f - 1.0f; });
}

inline int* ints_below(std::size_t count, unsigned limit) {
  return filled<int>(count, [=](unsigned i) { return int(mixed(i) % limit); });
}

/// Waits for the kernels, and gives all arrays back. Returns what main returns.
inline int finish() {
  must(cudaGetLastError());
  must(cudaDeviceSynchronize());
  for (void* array : arrays()) must(cudaFree(array));
  return 0;
}
