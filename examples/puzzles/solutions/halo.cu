// Puzzle halo: what nobody has written
//
// Each element of the result is the sum of an element and its two neighbours; what lies outside of
// the array counts as 0. A block keeps its elements in shared memory, and one more on either side.
// At the ends of the array nobody writes these cells, and shared memory does not begin as zeros.
//
// Solved when no thread reads what nobody has written, and the sums are right.
#include <cuda_runtime.h>

#include <cstdio>
#include <vector>

constexpr int block = 64;

__global__ void sum_of_three(const float* in, float* out, int n) {
  __shared__ float part[block + 2];
  const int t = threadIdx.x;
  const int i = blockIdx.x * block + t;
  part[t + 1] = i < n ? in[i] : 0;
  if (t == 0) part[0] = i > 0 ? in[i - 1] : 0;
  if (t == block - 1) part[block + 1] = i + 1 < n ? in[i + 1] : 0;
  __syncthreads();
  if (i < n) out[i] = part[t] + part[t + 1] + part[t + 2];
}

// ---- The rest of the puzzle stays as it is ----
int main() {
  const int n = 200;
  std::vector<float> in(n), out(n), sums(n);
  for (int i = 0; i < n; ++i) in[i] = i + 1;
  for (int i = 0; i < n; ++i) {
    sums[i] = (i > 0 ? in[i - 1] : 0) + in[i] + (i + 1 < n ? in[i + 1] : 0);
  }
  float *from, *to;
  cudaMalloc(&from, in.size() * sizeof(float));
  cudaMalloc(&to, out.size() * sizeof(float));
  cudaMemcpy(from, in.data(), in.size() * sizeof(float), cudaMemcpyHostToDevice);
  sum_of_three<<<(n + block - 1) / block, block>>>(from, to, n);
  cudaMemcpy(out.data(), to, out.size() * sizeof(float), cudaMemcpyDeviceToHost);
  int wrong = 0;
  for (int i = 0; i < n; ++i) {
    if (out[i] == sums[i]) continue;
    if (wrong++ > 0) continue;
    std::printf("out[%d] is %g and should be %g\n", i, out[i], sums[i]);
  }
  if (wrong > 0) std::printf("%d of %d values are wrong\n", wrong, n);
  cudaFree(from);
  cudaFree(to);
  return wrong != 0;
}
