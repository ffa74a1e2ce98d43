// Puzzle vectorise: 16 bytes a lane
//
// This kernel adds x to y, element by element, without a fault. But each thread asks for 4 bytes
// at a time, and a copy runs at the speed of memory only when many bytes are on their way. A lane
// can take 16 bytes with one request: a float4. The number of elements is no multiple of 4.
//
// Solved when the result is right and all warps together make at most 110 requests of global
// memory.
#include <cuda_runtime.h>

#include <cstdio>
#include <vector>

__global__ void add(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] += x[i];
}

void launch(const float* x, float* y, int n) {
  const int threads = 128;
  add<<<(n + threads - 1) / threads, threads>>>(x, y, n);
}

// ---- The rest of the puzzle stays as it is ----
int main() {
  const int n = 4099;
  std::vector<float> in(n), out(n, 1.0f);
  for (int i = 0; i < n; ++i) in[i] = i;
  float *from, *to;
  cudaMalloc(&from, in.size() * sizeof(float));
  cudaMalloc(&to, out.size() * sizeof(float));
  cudaMemcpy(from, in.data(), in.size() * sizeof(float), cudaMemcpyHostToDevice);
  cudaMemcpy(to, out.data(), out.size() * sizeof(float), cudaMemcpyHostToDevice);
  launch(from, to, n);
  cudaMemcpy(out.data(), to, out.size() * sizeof(float), cudaMemcpyDeviceToHost);
  int wrong = 0;
  for (int i = 0; i < n; ++i) {
    if (out[i] == in[i] + 1) continue;
    if (wrong++ > 0) continue;
    std::printf("out[%d] is %g and should be %g\n", i, out[i], in[i] + 1);
  }
  if (wrong > 0) std::printf("%d of %d values are wrong\n", wrong, n);
  cudaFree(from);
  cudaFree(to);
  return wrong != 0;
}
