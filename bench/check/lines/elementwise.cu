// One element a thread, or a few: arrays, records, pixels, and permutations of them.
#include <cuda_fp16.h>

#include "data.hpp"

struct Particle {
  float x, y, z, vx, vy, vz;
};

__global__ void axpy(int n, float a, const float* x, float* y) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    y[i] = a * x[i] + y[i];
  }
}

__global__ void copy_every(int n, int step, const float* in, float* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = in[i * step];
}

__global__ void copy_shifted(int n, int shift, const float* in, float* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i + shift < n) out[i] = in[i + shift];
}

__global__ void move_records(int n, float step, Particle* all) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  all[i].x += step * all[i].vx;
  all[i].y += step * all[i].vy;
  all[i].z += step * all[i].vz;
}

__global__ void move_columns(int n, float step, float* x, const float* vx) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  x[i] += step * vx[i];
}

__global__ void scale_quads(int n, float factor, const float4* in, float4* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float4 v = in[i];
  v.x *= factor;
  v.y *= factor;
  v.z *= factor;
  v.w *= factor;
  out[i] = v;
}

__global__ void axpy_halves(int n, half2 a, const half2* x, half2* y) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = __hfma2(a, x[i], y[i]);
}

__global__ void gray_of_quads(int n, const uchar4* pixels, unsigned char* gray) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const uchar4 p = pixels[i];
  gray[i] = static_cast<unsigned char>((77 * p.x + 150 * p.y + 29 * p.z) >> 8);
}

__global__ void gray_of_triples(int n, const unsigned char* rgb, unsigned char* gray) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const int red = rgb[3 * i];
  const int green = rgb[3 * i + 1];
  const int blue = rgb[3 * i + 2];
  gray[i] = static_cast<unsigned char>((77 * red + 150 * green + 29 * blue) >> 8);
}

__global__ void multiply_complex(int n, const float2* a, const float2* b, float2* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float2 p = a[i];
  const float2 q = b[i];
  out[i] = make_float2(p.x * q.x - p.y * q.y, p.x * q.y + p.y * q.x);
}

__global__ void polynomial(int n, const double* x, double* y) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const double v = x[i];
  y[i] = ((0.5 * v + 1.0) * v - 2.0) * v + 3.0;
}

__global__ void repair_negative(int n, float* x) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n && x[i] < 0.0f) x[i] = 0.0f;
}

__global__ void gather(int n, const int* index, const float* table, float* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = __ldg(&table[index[i]]);
}

__global__ void scatter_reversed_bits(int bits, const float* in, float* out) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= (1u << bits)) return;
  out[__brev(i) >> (32 - bits)] = in[i];
}

__global__ void interleave(int n, const short* left, const short* right, short2* both) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) both[i] = make_short2(left[i], right[i]);
}

__global__ void pack_signs(int n, const float* x, unsigned* words) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const bool negative = i < n && x[i] < 0.0f;
  const unsigned word = __ballot_sync(0xffffffffu, negative);
  if (threadIdx.x % 32 == 0) words[i / 32] = word;
}

__global__ void choose(int n, const unsigned char* mask, const float* a, const float* b, float* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  if (mask[i]) {
    out[i] = a[i];
  } else {
    out[i] = b[i];
  }
}

int main() {
  const int n = 10000, blocks = (n + 255) / 256;
  const auto small = [](unsigned i) { return (unsigned char)(mixed(i)); };
  axpy<<<20, 128>>>(n, 2.0f, floats(n), floats(n));
  copy_every<<<blocks, 256>>>(n, 3, floats(3 * n), zeros<float>(n));
  copy_shifted<<<blocks, 256>>>(n, 5, floats(n), zeros<float>(n));
  move_records<<<blocks, 256>>>(
      n, 0.1f, filled<Particle>(n, [](unsigned i) { return Particle{float(i), 1, 2, 3, 4, 5}; }));
  move_columns<<<blocks, 256>>>(n, 0.1f, floats(n), floats(n));
  scale_quads<<<blocks, 256>>>(
      n, 2.0f, filled<float4>(n, [](unsigned i) { return make_float4(i, 1, 2, 3); }),
      zeros<float4>(n));
  axpy_halves<<<blocks, 256>>>(
      n, __float2half2_rn(2.0f), filled<half2>(n, [](unsigned) { return __float2half2_rn(1.0f); }),
      filled<half2>(n, [](unsigned) { return __float2half2_rn(3.0f); }));
  gray_of_quads<<<blocks, 256>>>(
      n, filled<uchar4>(n, [](unsigned i) { return make_uchar4(i, i, i, 0); }),
      zeros<unsigned char>(n));
  gray_of_triples<<<blocks, 256>>>(n, filled<unsigned char>(3 * n, small), zeros<unsigned char>(n));
  const auto pair = [](unsigned i) { return make_float2(i % 7, i % 5); };
  multiply_complex<<<blocks, 256>>>(n, filled<float2>(n, pair), filled<float2>(n, pair),
                                    zeros<float2>(n));
  polynomial<<<blocks, 256>>>(n, filled<double>(n, [](unsigned i) { return 0.001 * i; }),
                              zeros<double>(n));
  repair_negative<<<blocks, 256>>>(n, floats(n));
  gather<<<blocks, 256>>>(n, ints_below(n, 4096), floats(4096), zeros<float>(n));
  scatter_reversed_bits<<<32, 256>>>(13, floats(8192), zeros<float>(8192));
  const auto sample = [](unsigned i) { return short(mixed(i)); };
  interleave<<<blocks, 256>>>(n, filled<short>(n, sample), filled<short>(n, sample),
                              zeros<short2>(n));
  pack_signs<<<blocks, 256>>>(n, floats(n), zeros<unsigned>(blocks * 8));
  choose<<<blocks, 256>>>(n, filled<unsigned char>(n, [](unsigned i) { return mixed(i) % 2; }),
                          floats(n), floats(n), zeros<float>(n));
  return finish();
}
