// Puzzle histogram: count in shared memory first
//
// This kernel counts how often each of 64 values occurs, with an atomic addition in global memory
// for each element. Its result is right. But many blocks wait for the same few addresses. A block
// can count in shared memory, and add each of its 64 counts to the result once.
//
// Solved when nothing is wrong and all warps together make at most 136 requests of global memory:
// 128 for the elements, and 2 a block for its counts.
#include <cuda_runtime.h>

#include <cstdio>
#include <vector>

constexpr int bins = 64;

__global__ void histogram(const int* in, int* counts, int n) {
  const int threads = gridDim.x * blockDim.x;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += threads) {
    atomicAdd(&counts[in[i]], 1);
  }
}

// ---- The rest of the puzzle stays as it is ----
int main() {
  const int n = 4096;
  std::vector<int> in(n), out(bins), counts(bins);
  for (int i = 0; i < n; ++i) counts[in[i] = i * i % 67 % bins] += 1;
  int *from, *to;
  cudaMalloc(&from, n * sizeof(int));
  cudaMalloc(&to, bins * sizeof(int));
  cudaMemcpy(from, in.data(), n * sizeof(int), cudaMemcpyHostToDevice);
  cudaMemset(to, 0, bins * sizeof(int));
  histogram<<<4, 256>>>(from, to, n);
  cudaMemcpy(out.data(), to, bins * sizeof(int), cudaMemcpyDeviceToHost);
  int wrong = 0;
  for (int i = 0; i < bins; ++i) {
    if (out[i] == counts[i]) continue;
    if (wrong++ > 0) continue;
    std::printf("out[%d] is %d and should be %d\n", i, out[i], counts[i]);
  }
  if (wrong > 0) std::printf("%d of %d values are wrong\n", wrong, bins);
  cudaFree(from);
  cudaFree(to);
  return wrong != 0;
}
