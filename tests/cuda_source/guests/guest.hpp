// What the front end writes for a launch, for guest programs that are written by hand.
#pragma once

#include <cooperative_groups.h>
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#define LAUNCH_WITH(kernel, grid, block, bytes, ...)                           \
  ::cornerturn::guest::launch_kernel(                                          \
      ::cornerturn::guest::Place{__builtin_FILE(), __builtin_LINE()}, #kernel, \
      ::cornerturn::guest::config(grid, block, bytes),                         \
      [&](auto... cornerturn_a) CT_GUEST_PLAIN { kernel(cornerturn_a...); }, __VA_ARGS__)
#define LAUNCH_TOGETHER(kernel, grid, block, arguments)                                            \
  ::cornerturn::guest::launch_cooperative(                                                         \
      ::cornerturn::guest::Place{__builtin_FILE(), __builtin_LINE()}, #kernel, kernel, dim3(grid), \
      dim3(block), arguments)
#define LAUNCH(kernel, grid, block, ...) LAUNCH_WITH(kernel, grid, block, 0, __VA_ARGS__)

// `count` numbers on the device: 0, 1, 2, ...
inline int* numbers(int count) {
  std::vector<int> host(count);
  for (int i = 0; i < count; ++i) host[i] = i;
  int* device = nullptr;
  cudaMalloc(&device, count * sizeof(int));
  cudaMemcpy(device, host.data(), count * sizeof(int), cudaMemcpyHostToDevice);
  return device;
}
// `count` numbers that nobody has written.
inline int* room(int count) {
  int* device = nullptr;
  cudaMalloc(&device, count * sizeof(int));
  return device;
}
inline std::vector<int> fetch(const int* device, int count) {
  std::vector<int> host(count);
  cudaMemcpy(host.data(), device, count * sizeof(int), cudaMemcpyDeviceToHost);
  return host;
}

#define EXPECT(condition)                                       \
  do {                                                          \
    if (!(condition)) {                                         \
      std::printf("wrong: %s line %d\n", #condition, __LINE__); \
      std::exit(3);                                             \
    }                                                           \
  } while (false)
