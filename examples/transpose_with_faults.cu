// A transposition through shared memory, as many write it at first: it lacks a barrier, and its
// reads of the tile meet in one bank. `cornerturn check` finds both without a GPU.
#include <cuda_runtime.h>

#include <cstdio>
#include <vector>

constexpr int side = 32;

__global__ void transpose(const float* in, float* out, int rows, int cols) {
  __shared__ float tile[side][side];
  const int x = blockIdx.x * side + threadIdx.x;
  const int y = blockIdx.y * side + threadIdx.y;
  for (int i = 0; i < side; i += blockDim.y) {
    if (x < cols && y + i < rows) tile[threadIdx.y + i][threadIdx.x] = in[(y + i) * cols + x];
  }
  const int to_x = blockIdx.y * side + threadIdx.x;
  const int to_y = blockIdx.x * side + threadIdx.y;
  for (int i = 0; i < side; i += blockDim.y) {
    if (to_x < rows && to_y + i < cols) out[(to_y + i) * rows + to_x] = tile[threadIdx.x][threadIdx.y + i];
  }
}

int main() {
  const int rows = 96, cols = 160;
  std::vector<float> in(rows * cols), out(rows * cols);
  for (int i = 0; i < rows * cols; ++i) in[i] = static_cast<float>(i);
  float *from, *to;
  cudaMalloc(&from, in.size() * sizeof(float));
  cudaMalloc(&to, out.size() * sizeof(float));
  cudaMemcpy(from, in.data(), in.size() * sizeof(float), cudaMemcpyHostToDevice);
  const dim3 grid((cols + side - 1) / side, (rows + side - 1) / side);
  transpose<<<grid, dim3(side, 8)>>>(from, to, rows, cols);
  cudaMemcpy(out.data(), to, out.size() * sizeof(float), cudaMemcpyDeviceToHost);
  int wrong = 0;
  for (int i = 0; i < rows * cols; ++i) wrong += out[i % cols * rows + i / cols] != in[i];
  std::printf("%d elements are wrong\n", wrong);
  cudaFree(from);
  cudaFree(to);
}
