// Products and transpositions of matrices.
#include <cuda_fp16.h>

#include "data.hpp"

__global__ void product_direct(int n, const float* a, const float* b, float* c) {
  const int row = blockIdx.y * blockDim.y + threadIdx.y;
  const int column = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= n || column >= n) return;
  float sum = 0.0f;
  for (int k = 0; k < n; ++k) sum += a[row * n + k] * b[k * n + column];
  c[row * n + column] = sum;
}

template <int side>
__global__ void product_tiled(int n, const float* a, const float* b, float* c) {
  __shared__ float left[side][side];
  __shared__ float right[side][side];
  const int row = blockIdx.y * side + threadIdx.y;
  const int column = blockIdx.x * side + threadIdx.x;
  float sum = 0.0f;
  for (int first = 0; first < n; first += side) {
    left[threadIdx.y][threadIdx.x] = a[row * n + first + threadIdx.x];
    right[threadIdx.y][threadIdx.x] = b[(first + threadIdx.y) * n + column];
    __syncthreads();
    for (int k = 0; k < side; ++k) sum += left[threadIdx.y][k] * right[k][threadIdx.x];
    __syncthreads();
  }
  c[row * n + column] = sum;
}

__global__ void product_with_transposed(int n, const float* a, const float* b, float* c) {
  __shared__ float left[16][16];
  __shared__ float right[16][16];
  const int x = threadIdx.x, y = threadIdx.y;
  float sum = 0.0f;
  for (int first = 0; first < n; first += 16) {
    left[y][x] = a[(blockIdx.y * 16 + y) * n + first + x];
    right[y][x] = b[(blockIdx.x * 16 + y) * n + first + x];
    __syncthreads();
#pragma unroll 1
    for (int k = 0; k < 16; ++k) sum += left[y][k] * right[x][k];
    __syncthreads();
  }
  c[(blockIdx.y * 16 + y) * n + blockIdx.x * 16 + x] = sum;
}

__global__ void product_in_registers(int n, const float* a, const float* b, float* c) {
  __shared__ float left[8][64];
  __shared__ float right[8][64];
  const int t = threadIdx.x;
  const int row = t / 16, column = t % 16;
  float sums[4][4] = {};
  for (int first = 0; first < n; first += 8) {
    for (int i = t; i < 512; i += 256) {
      left[i % 8][i / 8] = a[(blockIdx.y * 64 + i / 8) * n + first + i % 8];
      right[i / 64][i % 64] = b[(first + i / 64) * n + blockIdx.x * 64 + i % 64];
    }
    __syncthreads();
    for (int k = 0; k < 8; ++k) {
      float p[4], q[4];
      for (int i = 0; i < 4; ++i) p[i] = left[k][row + 16 * i];
      for (int j = 0; j < 4; ++j) q[j] = right[k][column + 16 * j];
      for (int i = 0; i < 4; ++i) {
        for (int j = 0; j < 4; ++j) sums[i][j] += p[i] * q[j];
      }
    }
    __syncthreads();
  }
  for (int i = 0; i < 4; ++i) {
    for (int j = 0; j < 4; ++j) {
      c[(blockIdx.y * 64 + row + 16 * i) * n + blockIdx.x * 64 + column + 16 * j] = sums[i][j];
    }
  }
}

__global__ void product_by_quads(int n, const float* a, const float* b, float* c) {
  __shared__ float4 right[32][8];
  const int x = threadIdx.x, y = threadIdx.y;
  const int row = blockIdx.y * 32 + y;
  float4 sum = make_float4(0, 0, 0, 0);
  for (int first = 0; first < n; first += 32) {
    const float4* from = reinterpret_cast<const float4*>(b + (first + y) * n + blockIdx.x * 32);
    right[y][x] = from[x];
    __syncthreads();
    for (int k = 0; k < 32; ++k) {
      const float p = a[row * n + first + k];
      const float4 q = right[k][x];
      sum.x += p * q.x;
      sum.y += p * q.y;
      sum.z += p * q.z;
      sum.w += p * q.w;
    }
    __syncthreads();
  }
  reinterpret_cast<float4*>(c + row * n + blockIdx.x * 32)[x] = sum;
}

__global__ void vector_by_warps(int rows, int columns, const float* a, const float* x, float* y) {
  const int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
  const int lane = threadIdx.x % 32;
  if (row >= rows) return;
  float sum = 0.0f;
  for (int c = lane; c < columns; c += 32) sum += a[row * columns + c] * x[c];
  for (int step = 16; step > 0; step >>= 1) sum += __shfl_down_sync(0xffffffffu, sum, step);
  if (lane == 0) y[row] = sum;
}

__global__ void vector_of_halves(int rows, int columns, const half* a, const half* x, half* y) {
  extern __shared__ half cached[];
  for (int c = threadIdx.x; c < columns; c += blockDim.x) cached[c] = x[c];
  __syncthreads();
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  float sum = 0.0f;
  for (int c = 0; c < columns; ++c) sum += __half2float(a[c * rows + row]) * __half2float(cached[c]);
  y[row] = __float2half(sum);
}

__global__ void transpose_direct(int rows, int columns, const float* in, float* out) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  const int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < columns && y < rows) out[x * rows + y] = in[y * columns + x];
}

template <class T, int pad>
__global__ void transpose_tiled(int rows, int columns, const T* in, T* out) {
  __shared__ T tile[32][32 + pad];
  int x = blockIdx.x * 32 + threadIdx.x;
  int y = blockIdx.y * 32 + threadIdx.y;
  for (int i = 0; i < 32; i += 8) {
    if (x < columns && y + i < rows) tile[threadIdx.y + i][threadIdx.x] = in[(y + i) * columns + x];
  }
  __syncthreads();
  x = blockIdx.y * 32 + threadIdx.x;
  y = blockIdx.x * 32 + threadIdx.y;
  for (int i = 0; i < 32; i += 8) {
    if (x < rows && y + i < columns) out[(y + i) * rows + x] = tile[threadIdx.x][threadIdx.y + i];
  }
}

__global__ void transpose_xored(int n, const float* in, float* out) {
  __shared__ float tile[32 * 32];
  const int x = threadIdx.x, y = threadIdx.y;
  tile[y * 32 + (x ^ y)] = in[(blockIdx.y * 32 + y) * n + blockIdx.x * 32 + x];
  __syncthreads();
  out[(blockIdx.x * 32 + y) * n + blockIdx.y * 32 + x] = tile[x * 32 + (x ^ y)];
}

__global__ void transpose_quads(int n, const float* in, float* out) {
  __shared__ float tile[64][65];
  const int t = threadIdx.x;
  for (int i = t; i < 64 * 16; i += 256) {
    const int row = i / 16, quad = i % 16;
    const float* at = in + (blockIdx.y * 64 + row) * n + blockIdx.x * 64 + 4 * quad;
    const float4 v = *reinterpret_cast<const float4*>(at);
    tile[row][4 * quad] = v.x;
    tile[row][4 * quad + 1] = v.y;
    tile[row][4 * quad + 2] = v.z;
    tile[row][4 * quad + 3] = v.w;
  }
  __syncthreads();
  for (int i = t; i < 64 * 16; i += 256) {
    const int row = i / 16, quad = i % 16;
    float4 v;
    v.x = tile[4 * quad][row];
    v.y = tile[4 * quad + 1][row];
    v.z = tile[4 * quad + 2][row];
    v.w = tile[4 * quad + 3][row];
    float* to = out + (blockIdx.x * 64 + row) * n + blockIdx.y * 64 + 4 * quad;
    *reinterpret_cast<float4*>(to) = v;
  }
}

__global__ void transpose_in_place(int n, float* a) {
  __shared__ float one[16][17];
  __shared__ float other[16][17];
  const int x = threadIdx.x, y = threadIdx.y;
  if (blockIdx.x > blockIdx.y) return;
  float* const here = a + (blockIdx.y * 16 + y) * n + blockIdx.x * 16 + x;
  float* const there = a + (blockIdx.x * 16 + y) * n + blockIdx.y * 16 + x;
  one[y][x] = *here;
  other[y][x] = *there;
  __syncthreads();
  *there = one[x][y];
  *here = other[x][y];
}

__global__ void outer_product(int n, const float* x, const float* y, float* out) {
  const int column = blockIdx.x * blockDim.x + threadIdx.x;
  if (column < n) out[blockIdx.y * n + column] = x[blockIdx.y] * y[column];
}

__global__ void solve_triangle(int n, const float* lower, float* x) {
  __shared__ float known;
  const int t = threadIdx.x;
  float rest = x[blockIdx.x * n + t];
  for (int k = 0; k < n; ++k) {
    if (t == k) known = rest / lower[k * n + k];
    __syncthreads();
    if (t == k) rest = known;
    if (t > k) rest -= lower[t * n + k] * known;
    __syncthreads();
  }
  x[blockIdx.x * n + t] = rest;
}

__global__ void products_of_small(int count, const float* a, const float* b, float* c) {
  __shared__ float left[8][16];
  __shared__ float right[8][16];
  const int which = threadIdx.x / 16, at = threadIdx.x % 16;
  const int matrix = blockIdx.x * 8 + which;
  if (matrix < count) {
    left[which][at] = a[matrix * 16 + at];
    right[which][at] = b[matrix * 16 + at];
  }
  __syncthreads();
  if (matrix >= count) return;
  float sum = 0.0f;
#pragma unroll 1
  for (int k = 0; k < 4; ++k) sum += left[which][at / 4 * 4 + k] * right[which][k * 4 + at % 4];
  c[matrix * 16 + at] = sum;
}

int main() {
  const int n = 64;
  const auto product = [=] { return zeros<float>(n * n); };
  float *const a = floats(n * n), *const b = floats(n * n);
  product_direct<<<dim3(4, 4), dim3(16, 16)>>>(n - 3, a, b, product());
  product_tiled<16><<<dim3(4, 4), dim3(16, 16)>>>(n, a, b, product());
  product_tiled<32><<<dim3(2, 2), dim3(32, 32)>>>(n, a, b, product());
  product_with_transposed<<<dim3(4, 4), dim3(16, 16)>>>(n, a, b, product());
  product_in_registers<<<dim3(1, 1), 256>>>(n, a, b, product());
  product_by_quads<<<dim3(2, 2), dim3(8, 32)>>>(n, a, b, product());
  vector_by_warps<<<13, 256>>>(100, 70, floats(7000), floats(70), zeros<float>(100));
  const auto one = [](unsigned) { return __float2half(1.0f); };
  vector_of_halves<<<2, 64, 90 * sizeof(half)>>>(100, 90, filled<half>(9000, one),
                                                 filled<half>(90, one), zeros<half>(100));
  const int rows = 70, columns = 100;
  const dim3 grid(4, 3), block(32, 8);
  float* const in = floats(rows * columns);
  transpose_direct<<<dim3(4, 9), block>>>(rows, columns, in, zeros<float>(rows * columns));
  transpose_tiled<float, 0><<<grid, block>>>(rows, columns, in, zeros<float>(rows * columns));
  transpose_tiled<float, 1><<<grid, block>>>(rows, columns, in, zeros<float>(rows * columns));
  transpose_tiled<double, 0><<<grid, block>>>(
      rows, columns, filled<double>(7000, [](unsigned i) { return double(i); }),
      zeros<double>(rows * columns));
  transpose_tiled<half, 2><<<grid, block>>>(rows, columns, filled<half>(7000, one),
                                            zeros<half>(rows * columns));
  transpose_tiled<unsigned char, 4><<<grid, block>>>(
      rows, columns, filled<unsigned char>(7000, [](unsigned i) { return (unsigned char)(i); }),
      zeros<unsigned char>(rows * columns));
  transpose_xored<<<dim3(4, 4), dim3(32, 32)>>>(128, floats(128 * 128), zeros<float>(128 * 128));
  transpose_quads<<<dim3(2, 2), 256>>>(128, floats(128 * 128), zeros<float>(128 * 128));
  transpose_in_place<<<dim3(4, 4), dim3(16, 16)>>>(n, floats(n * n));
  outer_product<<<dim3(1, 50), 64>>>(50, floats(50), floats(50), zeros<float>(2500));
  solve_triangle<<<3, 64>>>(
      n, filled<float>(n * n, [](unsigned i) { return i % 65 == 0 ? 2.0f : 0.01f; }),
      floats(3 * n));
  products_of_small<<<7, 128>>>(50, floats(800), floats(800), zeros<float>(800));
  return finish();
}
