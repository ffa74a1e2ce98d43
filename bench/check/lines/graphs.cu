// Sparse matrices, graphs, particles, transforms, and copies that run by themselves.
#include <cuda_pipeline.h>

#include "data.hpp"

struct Sample {
  float value;
  short rank;
  unsigned char flag;
};

struct Triple {
  float a, b, c;
};

__global__ void rows_alone(int rows, const int* starts, const int* columns, const float* values,
                           const float* x, float* y) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  float sum = 0.0f;
  for (int k = starts[row]; k < starts[row + 1]; ++k) sum += values[k] * x[columns[k]];
  y[row] = sum;
}

__global__ void rows_by_warps(int rows, const int* starts, const int* columns, const float* values,
                              const float* x, float* y) {
  const int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
  const int lane = threadIdx.x % 32;
  if (row >= rows) return;
  const int last = starts[row + 1];
  float sum = 0.0f;
  for (int k = starts[row] + lane; k < last; k += 32) sum += values[k] * x[columns[k]];
  for (int step = 16; step > 0; step /= 2) sum += __shfl_down_sync(0xffffffffu, sum, step);
  if (lane == 0) y[row] = sum;
}

__global__ void rows_padded(int rows, int most, const int* columns, const float* values,
                            const float* x, float* y) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  float sum = 0.0f;
  for (int k = 0; k < most; ++k) {
    const int column = columns[k * rows + row];
    if (column >= 0) sum += values[k * rows + row] * x[column];
  }
  y[row] = sum;
}

__global__ void entries_one_by_one(int entries, const int* rows, const int* columns,
                                   const float* values, const float* x, float* y) {
  const int k = blockIdx.x * blockDim.x + threadIdx.x;
  if (k < entries) atomicAdd(&y[rows[k]], values[k] * x[columns[k]]);
}

__global__ void next_level(int nodes, int level, const int* starts, const int* neighbours,
                           const int* levels, int* next) {
  const int node = blockIdx.x * blockDim.x + threadIdx.x;
  if (node >= nodes || levels[node] != level) return;
  for (int k = starts[node]; k < starts[node + 1]; ++k) {
    const int other = neighbours[k];
    if (levels[other] < 0) atomicExch(&next[other], level + 1);
  }
}

__global__ void attract(int n, const float4* bodies, float4* forces) {
  __shared__ float4 near[64];
  const int i = blockIdx.x * 64 + threadIdx.x;
  const float4 self = bodies[i];
  float3 force = make_float3(0, 0, 0);
  for (int first = 0; first < n; first += 64) {
    near[threadIdx.x] = bodies[first + threadIdx.x];
    __syncthreads();
#pragma unroll 4
    for (int j = 0; j < 64; ++j) {
      const float4 other = near[j];
      const float dx = other.x - self.x, dy = other.y - self.y, dz = other.z - self.z;
      const float inverse = rsqrtf(dx * dx + dy * dy + dz * dz + 0.01f);
      const float pull = other.w * inverse * inverse * inverse;
      force.x += pull * dx;
      force.y += pull * dy;
      force.z += pull * dz;
    }
    __syncthreads();
  }
  forces[i] = make_float4(force.x, force.y, force.z, 0);
}

__global__ void fourier(const float2* in, float2* out) {
  __shared__ float2 row[256];
  const int t = threadIdx.x;
  const int first = blockIdx.x * 256;
  row[__brev(t) >> 24] = in[first + t];
  row[__brev(t + 128) >> 24] = in[first + t + 128];
  for (int half = 1; half < 256; half *= 2) {
    __syncthreads();
    const int at = t / half * 2 * half + t % half;
    float sine, cosine;
    __sincosf(-3.14159265f * (t % half) / half, &sine, &cosine);
    const float2 even = row[at];
    const float2 odd = row[at + half];
    const float2 p = make_float2(odd.x * cosine - odd.y * sine, odd.x * sine + odd.y * cosine);
    row[at] = make_float2(even.x + p.x, even.y + p.y);
    row[at + half] = make_float2(even.x - p.x, even.y - p.y);
  }
  __syncthreads();
  out[first + t] = row[t];
  out[first + t + 128] = row[t + 128];
}

__global__ void hadamard(double* x) {
  __shared__ double row[256];
  const int t = threadIdx.x;
  row[t] = x[blockIdx.x * 256 + t];
  for (int half = 1; half < 256; half *= 2) {
    __syncthreads();
    const double mine = row[t], other = row[t ^ half];
    __syncthreads();
    row[t] = t & half ? other - mine : mine + other;
  }
  __syncthreads();
  x[blockIdx.x * 256 + t] = row[t];
}

__global__ void through_table(int n, const unsigned char* table, const unsigned char* in,
                              unsigned char* out) {
  __shared__ unsigned char cached[256];
  cached[threadIdx.x] = table[threadIdx.x];
  __syncthreads();
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = cached[in[i]];
}

__global__ void through_wide_table(int n, const int* index, const long long* table, long long* out) {
  __shared__ long long cached[128];
  cached[threadIdx.x] = table[threadIdx.x];
  __syncthreads();
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = cached[index[i]];
}

__global__ void shuffle_triples(const Triple* in, Triple* out) {
  __shared__ Triple all[128];
  const int t = threadIdx.x;
  all[t] = in[blockIdx.x * 128 + t];
  __syncthreads();
  const Triple other = all[(t * 5) % 128];
  out[blockIdx.x * 128 + t].a = other.c;
  out[blockIdx.x * 128 + t].b = other.a;
  out[blockIdx.x * 128 + t].c = other.b;
}

__global__ void count_flags(int n, const Sample* in, float* sums) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float sum = 0.0f;
  if (in[i].flag) sum = in[i].value * in[i].rank;
  sums[i] = sum;
}

__global__ void strides_of_quads(int stride, const float4* in, float4* out) {
  extern __shared__ float4 cached_quads[];
  const int t = threadIdx.x;
  cached_quads[t * stride % 256] = in[blockIdx.x * 128 + t];
  __syncthreads();
  out[blockIdx.x * 128 + t] = cached_quads[t * stride % 256];
}

__global__ void copy_ahead(int tiles, const float* in, float* out) {
  __shared__ float tile[2][128];
  const int t = threadIdx.x;
  const float* from = in + blockIdx.x * tiles * 128;
  __pipeline_memcpy_async(&tile[0][t], &from[t], 4);
  __pipeline_commit();
  float sum = 0.0f;
  for (int i = 0; i < tiles; ++i) {
    if (i + 1 < tiles) {
      __pipeline_memcpy_async(&tile[(i + 1) % 2][t], &from[(i + 1) * 128 + t], 4);
    }
    __pipeline_commit();
    __pipeline_wait_prior(1);
    __syncthreads();
    sum += tile[i % 2][127 - t];
    __syncthreads();
  }
  out[blockIdx.x * 128 + t] = sum;
}

__global__ void copy_ahead_quads(const float4* in, float4* out) {
  __shared__ float4 tile[16][16];
  const int x = threadIdx.x, y = threadIdx.y;
  const int at = blockIdx.x * 256 + y * 16 + x;
  __pipeline_memcpy_async(&tile[y][x ^ (y & 7)], &in[at], 16);
  __pipeline_commit();
  __pipeline_wait_prior(0);
  __syncthreads();
  out[blockIdx.x * 256 + y * 16 + x] = tile[x][y ^ (x & 7)];
}

__global__ void walk(int steps, const unsigned* seeds, int* places) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned state = seeds[i];
  int place = 0;
  for (int step = 0; step < steps; ++step) {
    state = state * 1664525u + 1013904223u;
    place += state >> 31 ? 1 : -1;
    if (place == 5) break;
  }
  places[i] = place;
}

__global__ void find_word(int n, const char* text, int length, const char* word, int* found) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i + length > n) return;
  int k = 0;
  while (k < length && text[i + k] == word[k]) ++k;
  if (k == length) atomicAdd(found, 1);
}

int main() {
  const int rows = 500, most = 8, entries = rows * most;
  // Row r has r % 9 entries.
  const auto begin = [](unsigned r) { return int(r / 9 * 36 + (r % 9) * (r % 9 - 1) / 2); };
  int* const starts = filled<int>(rows + 1, begin);
  int* const columns = ints_below(entries, rows);
  float *const values = floats(entries), *const x = floats(rows);
  rows_alone<<<4, 128>>>(rows, starts, columns, values, x, zeros<float>(rows));
  rows_by_warps<<<125, 128>>>(rows, starts, columns, values, x, zeros<float>(rows));
  rows_padded<<<4, 128>>>(
      rows, most,
      filled<int>(entries, [](unsigned i) { return mixed(i) % 3 ? int(mixed(i) % 500) : -1; }),
      values, x, zeros<float>(rows));
  entries_one_by_one<<<16, 256>>>(entries, ints_below(entries, rows), columns, values, x,
                                  zeros<float>(rows));
  next_level<<<4, 128>>>(rows, 1, starts, columns,
                         filled<int>(rows, [](unsigned i) { return int(i % 3) - 1; }),
                         zeros<int>(rows));
  attract<<<4, 64>>>(256, filled<float4>(256, [](unsigned i) { return make_float4(i, i % 7, 1, 2); }),
                     zeros<float4>(256));
  fourier<<<10, 128>>>(filled<float2>(2560, [](unsigned i) { return make_float2(i % 3, 0); }),
                       zeros<float2>(2560));
  hadamard<<<10, 256>>>(filled<double>(2560, [](unsigned i) { return double(i % 3); }));
  const auto byte = [](unsigned i) { return (unsigned char)(mixed(i)); };
  through_table<<<10, 256>>>(2500, filled<unsigned char>(256, byte),
                             filled<unsigned char>(2500, byte), zeros<unsigned char>(2500));
  through_wide_table<<<10, 128>>>(
      1200, ints_below(1200, 128),
      filled<long long>(128, [](unsigned i) { return (long long)(i); }), zeros<long long>(1200));
  shuffle_triples<<<10, 128>>>(filled<Triple>(1280, [](unsigned i) { return Triple{float(i), 1, 2}; }),
                               zeros<Triple>(1280));
  count_flags<<<10, 128>>>(
      1270,
      filled<Sample>(1270, [](unsigned i) { return Sample{1, short(i), (unsigned char)(i % 2)}; }),
      zeros<float>(1270));
  strides_of_quads<<<10, 128, 256 * sizeof(float4)>>>(
      3, filled<float4>(1280, [](unsigned i) { return make_float4(i, 1, 2, 3); }),
      zeros<float4>(1280));
  copy_ahead<<<10, 128>>>(6, floats(10 * 6 * 128), zeros<float>(1280));
  copy_ahead_quads<<<10, dim3(16, 16)>>>(
      filled<float4>(2560, [](unsigned i) { return make_float4(i, 1, 2, 3); }),
      zeros<float4>(2560));
  walk<<<10, 128>>>(100, filled<unsigned>(1280, mixed), zeros<int>(1280));
  find_word<<<10, 128>>>(1200, filled<char>(1200, [](unsigned i) { return char('a' + i % 3); }), 4,
                         filled<char>(4, [](unsigned i) { return char('a' + i % 3); }),
                         zeros<int>(1));
  return finish();
}
