// Puzzle banks: the lanes that work should work on neighbours
//
// Each block adds up 256 elements, in pairs, pairs of pairs, and so on. In each step fewer threads
// work, and the elements that they work on lie further apart: 2, 4, 8 ... 32 elements, until all
// of them are in one bank of shared memory, which then serves one lane after the other.
//
// Solved when the sums are right and each access takes no more wavefronts than it needs.
#include <cuda_runtime.h>

#include <cstdio>
#include <vector>

constexpr int block = 256;

__global__ void sum(const float* in, float* out) {
  __shared__ float part[block];
  const int t = threadIdx.x;
  part[t] = in[blockIdx.x * block + t];
  __syncthreads();
  for (int step = block / 2; step > 0; step /= 2) {
    if (t < step) part[t] += part[t + step];
    __syncthreads();
  }
  if (t == 0) out[blockIdx.x] = part[0];
}

// ---- The rest of the puzzle stays as it is ----
int main() {
  const int blocks = 3;
  std::vector<float> in(blocks * block), out(blocks), sums(blocks);
  for (int i = 0; i < blocks * block; ++i) {
    in[i] = i;
    sums[i / block] += in[i];
  }
  float *from, *to;
  cudaMalloc(&from, in.size() * sizeof(float));
  cudaMalloc(&to, out.size() * sizeof(float));
  cudaMemcpy(from, in.data(), in.size() * sizeof(float), cudaMemcpyHostToDevice);
  sum<<<blocks, block>>>(from, to);
  cudaMemcpy(out.data(), to, out.size() * sizeof(float), cudaMemcpyDeviceToHost);
  int wrong = 0;
  for (int i = 0; i < blocks; ++i) {
    if (out[i] == sums[i]) continue;
    if (wrong++ > 0) continue;
    std::printf("out[%d] is %g and should be %g\n", i, out[i], sums[i]);
  }
  if (wrong > 0) std::printf("%d of %d values are wrong\n", wrong, blocks);
  cudaFree(from);
  cudaFree(to);
  return wrong != 0;
}
