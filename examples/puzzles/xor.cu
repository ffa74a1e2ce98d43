// Puzzle xor: no conflict, and no byte more
//
// The transposition of puzzle pad once more. This time shared memory is short: the tile may not
// grow. Its rows stay where they are, and the elements within a row may change places.
//
// Solved when each access takes no more wavefronts, and no more sectors, than it needs, and a
// block no more than 4096 bytes of shared memory.
#include <cuda_runtime.h>

#include <cstdio>
#include <vector>

constexpr int side = 32;

__global__ void transpose(const float* in, float* out, int rows, int cols) {
  __shared__ float tile[side][side];
  const int x = threadIdx.x;
  const int first_row = blockIdx.y * side, first_col = blockIdx.x * side;
  for (int y = threadIdx.y; y < side; y += blockDim.y) {
    tile[y][x] = in[(first_row + y) * cols + first_col + x];
  }
  __syncthreads();
  for (int y = threadIdx.y; y < side; y += blockDim.y) {
    out[(first_col + y) * rows + first_row + x] = tile[x][y];
  }
}

// ---- The rest of the puzzle stays as it is ----
int main() {
  const int rows = 64, cols = 96;
  std::vector<float> in(rows * cols), out(rows * cols);
  for (int i = 0; i < rows * cols; ++i) in[i] = i;
  float *from, *to;
  cudaMalloc(&from, in.size() * sizeof(float));
  cudaMalloc(&to, out.size() * sizeof(float));
  cudaMemcpy(from, in.data(), in.size() * sizeof(float), cudaMemcpyHostToDevice);
  transpose<<<dim3(cols / side, rows / side), dim3(side, 8)>>>(from, to, rows, cols);
  cudaMemcpy(out.data(), to, out.size() * sizeof(float), cudaMemcpyDeviceToHost);
  int wrong = 0;
  for (int i = 0; i < rows * cols; ++i) {
    if (out[i] == in[i % rows * cols + i / rows]) continue;
    if (wrong++ > 0) continue;
    std::printf("out[%d] is %g and should be %g\n", i, out[i], in[i % rows * cols + i / rows]);
  }
  if (wrong > 0) std::printf("%d of %d values are wrong\n", wrong, rows * cols);
  cudaFree(from);
  cudaFree(to);
  return wrong != 0;
}
