// Puzzle blocks: nothing orders the blocks of a launch
//
// Each block adds up its elements, and its first thread adds the sum to the total. That is a load
// and a store, and between the two another block may do the same: then one of the sums is lost. No
// barrier helps, for a barrier orders the threads of one block only.
//
// Solved when nothing races, and the total is right.
#include <cuda_runtime.h>

#include <cstdio>
#include <vector>

constexpr int block = 128;

__global__ void add_up(const float* in, float* total) {
  __shared__ float part[block];
  const int t = threadIdx.x;
  part[t] = in[blockIdx.x * block + t];
  __syncthreads();
  for (int step = block / 2; step > 0; step /= 2) {
    if (t < step) part[t] += part[t + step];
    __syncthreads();
  }
  if (t == 0) *total += part[0];
}

// ---- The rest of the puzzle stays as it is ----
int main() {
  const int blocks = 6;
  std::vector<float> in(blocks * block), out(1);
  float sum = 0;
  for (int i = 0; i < blocks * block; ++i) sum += in[i] = i % 19;
  float *from, *to;
  cudaMalloc(&from, in.size() * sizeof(float));
  cudaMalloc(&to, out.size() * sizeof(float));
  cudaMemcpy(from, in.data(), in.size() * sizeof(float), cudaMemcpyHostToDevice);
  cudaMemset(to, 0, sizeof(float));
  add_up<<<blocks, block>>>(from, to);
  cudaMemcpy(out.data(), to, out.size() * sizeof(float), cudaMemcpyDeviceToHost);
  int wrong = 0;
  for (int i = 0; i < 1; ++i) {
    if (out[i] == sum) continue;
    if (wrong++ > 0) continue;
    std::printf("out[%d] is %g and should be %g\n", i, out[i], sum);
  }
  if (wrong > 0) std::printf("%d of %d values are wrong\n", wrong, 1);
  cudaFree(from);
  cudaFree(to);
  return wrong != 0;
}
