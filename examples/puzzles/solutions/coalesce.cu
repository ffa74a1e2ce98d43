// Puzzle coalesce: neighbouring lanes take neighbouring elements
//
// This kernel copies a matrix, and its result is right. But the 32 lanes of a warp stand in 32
// rows: each access touches 32 sectors of global memory, where 4 hold 32 floats.
//
// Solved when the result is right and each access takes no more sectors than it needs.
#include <cuda_runtime.h>

#include <cstdio>
#include <vector>

__global__ void copy(const float* in, float* out, int cols) {
  const int col = blockIdx.x * blockDim.x + threadIdx.x;
  const int row = blockIdx.y * blockDim.y + threadIdx.y;
  out[row * cols + col] = in[row * cols + col];
}

// ---- The rest of the puzzle stays as it is ----
int main() {
  const int rows = 64, cols = 64;
  std::vector<float> in(rows * cols), out(rows * cols);
  for (int i = 0; i < rows * cols; ++i) in[i] = i;
  float *from, *to;
  cudaMalloc(&from, in.size() * sizeof(float));
  cudaMalloc(&to, out.size() * sizeof(float));
  cudaMemcpy(from, in.data(), in.size() * sizeof(float), cudaMemcpyHostToDevice);
  copy<<<dim3(2, 8), dim3(32, 8)>>>(from, to, cols);
  cudaMemcpy(out.data(), to, out.size() * sizeof(float), cudaMemcpyDeviceToHost);
  int wrong = 0;
  for (int i = 0; i < rows * cols; ++i) {
    if (out[i] == in[i]) continue;
    if (wrong++ > 0) continue;
    std::printf("out[%d] is %g and should be %g\n", i, out[i], in[i]);
  }
  if (wrong > 0) std::printf("%d of %d values are wrong\n", wrong, rows * cols);
  cudaFree(from);
  cudaFree(to);
  return wrong != 0;
}
