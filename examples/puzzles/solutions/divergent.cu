// Puzzle divergent: every thread comes to every barrier
//
// A block adds up the differences between neighbours, 64 at a time. Where the array ends, the last
// threads have nothing left: they leave the loop, and with it its barriers, and wait at another
// barrier while their neighbours still wait in the loop. On a GPU that may go well, or never end.
//
// Solved when all threads come to the same barriers, and the sum is right.
#include <cuda_runtime.h>

#include <cstdio>
#include <vector>

constexpr int block = 64;

__global__ void add_up(const float* in, float* out, int n) {
  __shared__ float part[block + 1];
  const int t = threadIdx.x;
  float sum = 0;
  for (int first = 0; first + 1 < n; first += block) {
    const int i = first + t;
    if (i + 1 < n) {
      part[t] = in[i];
      if (t == block - 1 || i + 2 == n) part[t + 1] = in[i + 1];
    }
    __syncthreads();
    if (i + 1 < n) sum += fabsf(part[t + 1] - part[t]);
    __syncthreads();
  }
  part[t] = sum;
  __syncthreads();
  for (int step = block / 2; step > 0; step /= 2) {
    if (t < step) part[t] += part[t + step];
    __syncthreads();
  }
  if (t == 0) *out = part[0];
}

// ---- The rest of the puzzle stays as it is ----
int main() {
  const int n = 200;
  std::vector<float> in(n), out(1);
  float sum = 0;
  for (int i = 0; i < n; ++i) {
    in[i] = i * i % 17;
    if (i > 0) sum += in[i] > in[i - 1] ? in[i] - in[i - 1] : in[i - 1] - in[i];
  }
  float *from, *to;
  cudaMalloc(&from, in.size() * sizeof(float));
  cudaMalloc(&to, out.size() * sizeof(float));
  cudaMemcpy(from, in.data(), in.size() * sizeof(float), cudaMemcpyHostToDevice);
  add_up<<<1, block>>>(from, to, n);
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
