// Transpositions whose sectors and wavefronts are known.
#include "guest.hpp"

constexpr int side = 128;

__global__ void naive(float* out, const float* in) {
  const int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
  for (int j = 0; j < 32; j += 8) {
    const float value = in[(y + j) * side + x];
    out[x * side + y + j] = value;  // naive
  }
}

__global__ void tiled(float* out, const float* in) {
  __shared__ float tile[32][32];
  int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
  for (int j = 0; j < 32; j += 8) tile[threadIdx.y + j][threadIdx.x] = in[(y + j) * side + x];
  __syncthreads();
  x = blockIdx.y * 32 + threadIdx.x;
  y = blockIdx.x * 32 + threadIdx.y;
  for (int j = 0; j < 32; j += 8) {
    const float value = tile[threadIdx.x][threadIdx.y + j];  // tiled
    out[(y + j) * side + x] = value;
  }
}

__global__ void padded(float* out, const float* in) {
  __shared__ float tile[32][33];
  int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
  for (int j = 0; j < 32; j += 8) tile[threadIdx.y + j][threadIdx.x] = in[(y + j) * side + x];
  __syncthreads();
  x = blockIdx.y * 32 + threadIdx.x;
  y = blockIdx.x * 32 + threadIdx.y;
  for (int j = 0; j < 32; j += 8) out[(y + j) * side + x] = tile[threadIdx.x][threadIdx.y + j];
}

__global__ void copy_vectors(float4* out, const float4* in) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  const float4 value = in[i];
  out[i] = value;
}

int main() {
  std::vector<float> host(side * side), got(side * side);
  for (int i = 0; i < side * side; ++i) host[i] = i;
  float* in = nullptr;
  float* out = nullptr;
  const std::size_t bytes = host.size() * sizeof(float);
  cudaMalloc(&in, bytes);
  cudaMalloc(&out, bytes);
  cudaMemcpy(in, host.data(), bytes, cudaMemcpyHostToDevice);
  const auto expect = [&](bool transposed) {
    cudaMemcpy(got.data(), out, bytes, cudaMemcpyDeviceToHost);
    for (int y = 0; y < side; ++y) {
      for (int x = 0; x < side; ++x) {
        EXPECT(got[y * side + x] == host[transposed ? x * side + y : y * side + x]);
      }
    }
    cudaMemset(out, 0, bytes);
  };
  const dim3 grid(side / 32, side / 32), block(32, 8);
  LAUNCH(naive, grid, block, out, in);
  expect(true);
  LAUNCH(tiled, grid, block, out, in);
  expect(true);
  LAUNCH(padded, grid, block, out, in);
  expect(true);
  LAUNCH(copy_vectors, 16, 256, reinterpret_cast<float4*>(out), reinterpret_cast<float4*>(in));
  expect(false);
  cudaFree(in);
  cudaFree(out);
  return 0;
}
