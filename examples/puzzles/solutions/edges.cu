// Puzzle edges: threads beyond the edge do nothing
//
// This kernel doubles each element of a matrix in its place. Its blocks have 32 x 8 threads, and
// the matrix has neither a multiple of 32 columns nor one of 8 rows. So some threads have no
// element: those below the last row write past the end, and those right of the last column double
// an element of the next row, which another thread doubles as well.
//
// Solved when nothing is wrong: each element is doubled once, and nothing else is touched.
#include <cuda_runtime.h>

#include <cstdio>
#include <vector>

__global__ void twice(float* a, int rows, int cols) {
  const int col = blockIdx.x * blockDim.x + threadIdx.x;
  const int row = blockIdx.y * blockDim.y + threadIdx.y;
  if (row < rows && col < cols) a[row * cols + col] *= 2;
}

// ---- The rest of the puzzle stays as it is ----
int main() {
  const int rows = 45, cols = 70;
  std::vector<float> in(rows * cols), out(rows * cols);
  for (int i = 0; i < rows * cols; ++i) in[i] = i;
  float* a;
  cudaMalloc(&a, in.size() * sizeof(float));
  cudaMemcpy(a, in.data(), in.size() * sizeof(float), cudaMemcpyHostToDevice);
  twice<<<dim3((cols + 31) / 32, (rows + 7) / 8), dim3(32, 8)>>>(a, rows, cols);
  cudaMemcpy(out.data(), a, out.size() * sizeof(float), cudaMemcpyDeviceToHost);
  int wrong = 0;
  for (int i = 0; i < rows * cols; ++i) {
    if (out[i] == 2 * in[i]) continue;
    if (wrong++ > 0) continue;
    std::printf("out[%d] is %g and should be %g\n", i, out[i], 2 * in[i]);
  }
  if (wrong > 0) std::printf("%d of %d values are wrong\n", wrong, rows * cols);
  cudaFree(a);
  return wrong != 0;
}
