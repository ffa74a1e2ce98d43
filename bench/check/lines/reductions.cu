// Sums, extremes and their like: trees in shared memory, shuffles, rows and columns, atomics.
#include <cooperative_groups.h>

#include "data.hpp"

namespace cg = cooperative_groups;

__global__ void sum_interleaved(const float* in, float* out) {
  __shared__ float part[256];
  const int t = threadIdx.x;
  part[t] = in[blockIdx.x * blockDim.x + t];
  __syncthreads();
  for (int step = 1; step < blockDim.x; step *= 2) {
    if (t % (2 * step) == 0) part[t] += part[t + step];
    __syncthreads();
  }
  if (t == 0) out[blockIdx.x] = part[0];
}

__global__ void sum_strided(const float* in, float* out) {
  __shared__ float part[256];
  const int t = threadIdx.x;
  part[t] = in[blockIdx.x * blockDim.x + t];
  __syncthreads();
  for (int step = 1; step < blockDim.x; step *= 2) {
    const int at = 2 * step * t;
    if (at < blockDim.x) part[at] += part[at + step];
    __syncthreads();
  }
  if (t == 0) out[blockIdx.x] = part[0];
}

__global__ void sum_halving(const float* in, float* out) {
  extern __shared__ float dynamic_part[];
  const int t = threadIdx.x;
  dynamic_part[t] = in[blockIdx.x * blockDim.x + t];
  __syncthreads();
  for (int half = blockDim.x / 2; half > 0; half /= 2) {
    if (t < half) dynamic_part[t] += dynamic_part[t + half];
    __syncthreads();
  }
  if (t == 0) out[blockIdx.x] = dynamic_part[0];
}

__device__ float warp_sum(float value) {
  for (int step = 16; step > 0; step /= 2) value += __shfl_xor_sync(0xffffffffu, value, step);
  return value;
}

__global__ void sum_by_shuffles(int n, const float* in, float* out) {
  __shared__ float of_warp[32];
  float sum = 0.0f;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    sum += in[i];
  }
  sum = warp_sum(sum);
  if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x < 32) {
    sum = threadIdx.x < blockDim.x / 32 ? of_warp[threadIdx.x] : 0.0f;
    sum = warp_sum(sum);
    if (threadIdx.x == 0) atomicAdd(out, sum);
  }
}

__global__ void sum_quads(int n, const float4* in, float* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  float sum = 0.0f;
  if (i < n) {
    const float4 v = in[i];
    sum = v.x + v.y + v.z + v.w;
  }
  sum = warp_sum(sum);
  if (threadIdx.x % 32 == 0) atomicAdd(out, sum);
}

__global__ void sum_in_groups(int n, const int* in, int* out) {
  const cg::thread_block block = cg::this_thread_block();
  const cg::thread_block_tile<16> tile = cg::tiled_partition<16>(block);
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  int value = i < n ? in[i] : 0;
  for (int step = tile.size() / 2; step > 0; step /= 2) value += tile.shfl_down(value, step);
  if (tile.thread_rank() == 0) out[i / 16] = value;
}

__global__ void sum_rows(int columns, const float* in, float* out) {
  __shared__ float part[128];
  float sum = 0.0f;
  for (int c = threadIdx.x; c < columns; c += blockDim.x) sum += in[blockIdx.x * columns + c];
  part[threadIdx.x] = sum;
  __syncthreads();
  for (int half = 64; half >= 32; half /= 2) {
    if (threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];
    __syncthreads();
  }
  if (threadIdx.x < 32) {
    sum = warp_sum(part[threadIdx.x]);
    if (threadIdx.x == 0) out[blockIdx.x] = sum;
  }
}

__global__ void sum_rows_alone(int rows, int columns, const float* in, float* out) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  float sum = 0.0f;
  for (int c = 0; c < columns; ++c) sum += in[row * columns + c];
  out[row] = sum;
}

__global__ void sum_columns(int rows, int columns, const float* in, float* out) {
  const int column = blockIdx.x * blockDim.x + threadIdx.x;
  if (column >= columns) return;
  float sum = 0.0f;
  for (int r = 0; r < rows; ++r) sum += in[r * columns + column];
  out[column] = sum;
}

__global__ void index_of_largest(int n, const float* in, int* out) {
  __shared__ float best[256];
  __shared__ int where[256];
  const int t = threadIdx.x;
  best[t] = -1e30f;
  where[t] = -1;
  for (int i = t; i < n; i += blockDim.x) {
    const float value = in[blockIdx.x * n + i];
    if (value > best[t]) {
      best[t] = value;
      where[t] = i;
    }
  }
  __syncthreads();
  for (int half = 128; half > 0; half /= 2) {
    if (t < half && best[t + half] > best[t]) {
      best[t] = best[t + half];
      where[t] = where[t + half];
    }
    __syncthreads();
  }
  if (t == 0) out[blockIdx.x] = where[0];
}

__global__ void dot_of_doubles(int n, const double* a, const double* b, double* out) {
  __shared__ double part[128];
  double sum = 0.0;
  for (int i = blockIdx.x * 128 + threadIdx.x; i < n; i += gridDim.x * 128) sum += a[i] * b[i];
  part[threadIdx.x] = sum;
  __syncthreads();
  for (int half = 64; half > 0; half >>= 1) {
    if (threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];
    __syncthreads();
  }
  if (threadIdx.x == 0) out[blockIdx.x] = part[0];
}

__global__ void mean_and_variance(int n, const float* in, float2* out) {
  __shared__ float2 part[8];
  float sum = 0.0f, squares = 0.0f;
  const float* row = in + blockIdx.x * n;
  for (int i = threadIdx.x; i < n; i += blockDim.x) {
    const float value = row[i];
    sum += value;
    squares += value * value;
  }
  sum = warp_sum(sum);
  squares = warp_sum(squares);
  if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = make_float2(sum, squares);
  __syncthreads();
  if (threadIdx.x == 0) {
    for (int w = 1; w < blockDim.x / 32; ++w) {
      sum += part[w].x;
      squares += part[w].y;
    }
    out[blockIdx.x] = make_float2(sum / n, squares / n - (sum / n) * (sum / n));
  }
}

__global__ void range_of_bytes(int n, const unsigned char* in, int* low, int* high) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const int value = in[i < n ? i : 0];
  const int least = __reduce_min_sync(0xffffffffu, value);
  const int most = __reduce_max_sync(0xffffffffu, value);
  if (threadIdx.x % 32 == 0) {
    atomicMin(low, least);
    atomicMax(high, most);
  }
}

__global__ void count_true(int n, const int* in, int* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const int count = __syncthreads_count(i < n && in[i] % 3 == 0);
  if (threadIdx.x == 0) out[blockIdx.x] = count;
}

int main() {
  const int n = 256 * 40;
  sum_interleaved<<<40, 256>>>(floats(n), zeros<float>(40));
  sum_strided<<<40, 256>>>(floats(n), zeros<float>(40));
  sum_halving<<<40, 256, 256 * sizeof(float)>>>(floats(n), zeros<float>(40));
  sum_by_shuffles<<<10, 256>>>(n - 7, floats(n), zeros<float>(1));
  sum_quads<<<10, 256>>>(
      n / 4, filled<float4>(n / 4, [](unsigned i) { return make_float4(i, 1, 2, 3); }),
      zeros<float>(1));
  sum_in_groups<<<40, 256>>>(n - 7, ints_below(n, 100), zeros<int>(n / 16));
  sum_rows<<<50, 128>>>(300, floats(50 * 300), zeros<float>(50));
  sum_rows_alone<<<3, 64>>>(150, 70, floats(150 * 70), zeros<float>(150));
  sum_columns<<<3, 64>>>(70, 150, floats(150 * 70), zeros<float>(150));
  index_of_largest<<<20, 256>>>(500, floats(20 * 500), zeros<int>(20));
  const auto number = [](unsigned i) { return 0.5 * (i % 9); };
  dot_of_doubles<<<8, 128>>>(n, filled<double>(n, number), filled<double>(n, number),
                             zeros<double>(8));
  mean_and_variance<<<20, 256>>>(500, floats(20 * 500), zeros<float2>(20));
  range_of_bytes<<<40, 256>>>(
      n - 3, filled<unsigned char>(n, [](unsigned i) { return (unsigned char)(mixed(i)); }),
      zeros<int>(1), zeros<int>(1));
  count_true<<<40, 256>>>(n - 3, ints_below(n, 100), zeros<int>(40));
  return finish();
}
