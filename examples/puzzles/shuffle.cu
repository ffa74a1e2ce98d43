// Puzzle shuffle: a warp adds up without shared memory
//
// Each warp adds up 32 elements. The kernel is an old one: it trusts that the lanes of a warp go
// step by step together. Since Volta they need not, so that its steps race. A barrier of the warp
// would help. But registers can be read by other lanes directly, and then neither barrier nor
// shared memory is needed.
//
// Solved when nothing races, the sums are right, and a block takes no shared memory.
#include <cuda_runtime.h>

#include <cstdio>
#include <vector>

__global__ void sum(const float* in, float* out) {
  __shared__ float part[32];
  const int lane = threadIdx.x;
  part[lane] = in[blockIdx.x * 32 + lane];
  for (int step = 16; step > 0; step /= 2) {
    if (lane < step) part[lane] += part[lane + step];
  }
  if (lane == 0) out[blockIdx.x] = part[0];
}

// ---- The rest of the puzzle stays as it is ----
int main() {
  const int blocks = 5;
  std::vector<float> in(blocks * 32), out(blocks), sums(blocks);
  for (int i = 0; i < blocks * 32; ++i) {
    in[i] = i;
    sums[i / 32] += in[i];
  }
  float *from, *to;
  cudaMalloc(&from, in.size() * sizeof(float));
  cudaMalloc(&to, out.size() * sizeof(float));
  cudaMemcpy(from, in.data(), in.size() * sizeof(float), cudaMemcpyHostToDevice);
  sum<<<blocks, 32>>>(from, to);
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
