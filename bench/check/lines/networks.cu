// Layers of networks: normalisations, activations, tables, quantised numbers, attention.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>

#include "data.hpp"

__device__ float largest_of_block(float value, float* of_warp) {
  for (int step = 16; step > 0; step /= 2) {
    value = fmaxf(value, __shfl_xor_sync(0xffffffffu, value, step));
  }
  if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = value;
  __syncthreads();
  value = of_warp[threadIdx.x % 32 % (blockDim.x / 32)];
  for (int step = 16; step > 0; step /= 2) {
    value = fmaxf(value, __shfl_xor_sync(0xffffffffu, value, step));
  }
  return value;
}

__device__ float sum_of_block(float value, float* of_warp) {
  for (int step = 16; step > 0; step /= 2) value += __shfl_xor_sync(0xffffffffu, value, step);
  if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = value;
  __syncthreads();
  value = threadIdx.x % 32 < blockDim.x / 32 ? of_warp[threadIdx.x % 32] : 0.0f;
  for (int step = 16; step > 0; step /= 2) value += __shfl_xor_sync(0xffffffffu, value, step);
  return value;
}

__global__ void softmax_rows(int columns, const float* in, float* out) {
  __shared__ float most_of_warp[32], sum_of_warp[32];
  const float* row = in + blockIdx.x * columns;
  float most = -1e30f;
  for (int c = threadIdx.x; c < columns; c += blockDim.x) most = fmaxf(most, row[c]);
  most = largest_of_block(most, most_of_warp);
  float sum = 0.0f;
  for (int c = threadIdx.x; c < columns; c += blockDim.x) sum += __expf(row[c] - most);
  sum = sum_of_block(sum, sum_of_warp);
  for (int c = threadIdx.x; c < columns; c += blockDim.x) {
    out[blockIdx.x * columns + c] = __expf(row[c] - most) / sum;
  }
}

__global__ void softmax_by_warps(int rows, const float4* in, float4* out) {
  const int row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
  if (row >= rows) return;
  float4 v = in[row * 32 + threadIdx.x % 32];
  float most = fmaxf(fmaxf(v.x, v.y), fmaxf(v.z, v.w));
  for (int step = 16; step > 0; step /= 2) {
    most = fmaxf(most, __shfl_xor_sync(0xffffffffu, most, step));
  }
  v = make_float4(__expf(v.x - most), __expf(v.y - most), __expf(v.z - most), __expf(v.w - most));
  float sum = v.x + v.y + v.z + v.w;
  for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, step);
  out[row * 32 + threadIdx.x % 32] = make_float4(v.x / sum, v.y / sum, v.z / sum, v.w / sum);
}

__global__ void normalise_rows(int columns, const float* in, const float* gain, const float* bias,
                               float* out) {
  extern __shared__ float row[];
  __shared__ float first[32], second[32];
  float sum = 0.0f;
  for (int c = threadIdx.x; c < columns; c += blockDim.x) {
    row[c] = in[blockIdx.x * columns + c];
    sum += row[c];
  }
  const float mean = sum_of_block(sum, first) / columns;
  float squares = 0.0f;
  for (int c = threadIdx.x; c < columns; c += blockDim.x) {
    const float away = row[c] - mean;
    squares += away * away;
  }
  const float scale = rsqrtf(sum_of_block(squares, second) / columns + 1e-5f);
  for (int c = threadIdx.x; c < columns; c += blockDim.x) {
    out[blockIdx.x * columns + c] = (row[c] - mean) * scale * gain[c] + bias[c];
  }
}

__global__ void scale_to_unit(int quads, const uint4* in, const float* gain, uint4* out) {
  __shared__ float of_warp[32];
  const int at = blockIdx.x * quads + threadIdx.x;
  uint4 packed = in[at];
  half2* const pairs = reinterpret_cast<half2*>(&packed);
  float sum = 0.0f;
  for (int i = 0; i < 4; ++i) {
    const float2 v = __half22float2(pairs[i]);
    sum += v.x * v.x + v.y * v.y;
  }
  const float scale = rsqrtf(sum_of_block(sum, of_warp) / (8 * quads) + 1e-6f);
  for (int i = 0; i < 4; ++i) {
    const float2 v = __half22float2(pairs[i]);
    const float2 g = reinterpret_cast<const float2*>(gain)[threadIdx.x * 4 + i];
    pairs[i] = __floats2half2_rn(v.x * scale * g.x, v.y * scale * g.y);
  }
  out[at] = packed;
}

__global__ void turn_pairs(int pairs, const float2* in, float2* out) {
  const int token = blockIdx.x, pair = threadIdx.x;
  const float angle = token * __powf(10000.0f, -float(pair) / pairs);
  float sine, cosine;
  __sincosf(angle, &sine, &cosine);
  const float2 v = in[token * pairs + pair];
  out[token * pairs + pair] = make_float2(v.x * cosine - v.y * sine, v.x * sine + v.y * cosine);
}

__global__ void turn_halves(int pairs, const half* in, half* out) {
  const int token = blockIdx.x, pair = threadIdx.x;
  const half* from = in + token * 2 * pairs;
  const float angle = token * 0.01f * pair;
  const float x = __half2float(from[pair]);
  const float y = __half2float(from[pair + pairs]);
  half* to = out + token * 2 * pairs;
  to[pair] = __float2half(x * __cosf(angle) - y * __sinf(angle));
  to[pair + pairs] = __float2half(x * __sinf(angle) + y * __cosf(angle));
}

__global__ void rows_of_table(int columns, const int* tokens, const __nv_bfloat16* table,
                              __nv_bfloat16* out) {
  const int row = tokens[blockIdx.x];
  for (int c = threadIdx.x; c < columns; c += blockDim.x) {
    out[blockIdx.x * columns + c] = table[row * columns + c];
  }
}

__global__ void gelu(int n, const float* in, float* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float x = in[i];
  out[i] = 0.5f * x * (1.0f + tanhf(0.7978845608f * (x + 0.044715f * x * x * x)));
}

__global__ void add_bias_and_rest(int columns, const float* bias, const float* rest, float* x) {
  const int c = blockIdx.x * blockDim.x + threadIdx.x;
  if (c >= columns) return;
  const int at = blockIdx.y * columns + c;
  x[at] = fmaxf(x[at] + bias[c], 0.0f) + rest[at];
}

__global__ void quantise_rows(int columns, const float* in, int8_t* out, float* scales) {
  __shared__ float of_warp[32];
  float most = 0.0f;
  for (int c = threadIdx.x; c < columns; c += blockDim.x) {
    most = fmaxf(most, fabsf(in[blockIdx.x * columns + c]));
  }
  most = largest_of_block(most, of_warp);
  for (int c = threadIdx.x; c < columns; c += blockDim.x) {
    out[blockIdx.x * columns + c] = int8_t(rintf(in[blockIdx.x * columns + c] * 127.0f / most));
  }
  if (threadIdx.x == 0) scales[blockIdx.x] = most / 127.0f;
}

__global__ void expand_nibbles(int n, const uint8_t* packed, const half* scales, half2* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const int byte = packed[i];
  const float scale = __half2float(scales[i / 16]);
  out[i] = __floats2half2_rn(scale * ((byte & 15) - 8), scale * ((byte >> 4) - 8));
}

__global__ void attend(int keys, const float* query, const float* key, const float* value,
                       float* out) {
  extern __shared__ float score[];
  __shared__ float most_of_warp[32], sum_of_warp[32];
  const int t = threadIdx.x;
  float most = -1e30f;
  for (int k = t; k < keys; k += blockDim.x) {
    float dot = 0.0f;
    for (int d = 0; d < 64; ++d) dot += query[blockIdx.x * 64 + d] * key[k * 64 + d];
    score[k] = dot * 0.125f;
    most = fmaxf(most, score[k]);
  }
  most = largest_of_block(most, most_of_warp);
  float sum = 0.0f;
  for (int k = t; k < keys; k += blockDim.x) {
    score[k] = __expf(score[k] - most);
    sum += score[k];
  }
  sum = sum_of_block(sum, sum_of_warp);
  __syncthreads();
  if (t < 64) {
    float mixed_value = 0.0f;
#pragma unroll 1
    for (int k = 0; k < keys; ++k) mixed_value += score[k] * value[k * 64 + t];
    out[blockIdx.x * 64 + t] = mixed_value / sum;
  }
}

__global__ void average_channels(int channels, int pixels, const float* in, float* mean) {
  __shared__ float of_warp[32];
  float sum = 0.0f;
  for (int i = threadIdx.x; i < pixels; i += blockDim.x) sum += in[blockIdx.x * pixels + i];
  sum = sum_of_block(sum, of_warp);
  if (threadIdx.x == 0 && blockIdx.x < channels) mean[blockIdx.x] = sum / pixels;
}

__global__ void loss_of_labels(int classes, const float* logits, const int* labels, float* loss) {
  __shared__ float most_of_warp[32], sum_of_warp[32];
  const float* row = logits + blockIdx.x * classes;
  float most = -1e30f;
  for (int c = threadIdx.x; c < classes; c += 64) most = fmaxf(most, row[c]);
  most = largest_of_block(most, most_of_warp);
  float sum = 0.0f;
  for (int c = threadIdx.x; c < classes; c += 64) sum += expf(row[c] - most);
  sum = sum_of_block(sum, sum_of_warp);
  if (threadIdx.x == 0) loss[blockIdx.x] = logf(sum) + most - row[labels[blockIdx.x]];
}

int main() {
  const int rows = 24, columns = 300, n = rows * columns;
  float* const in = floats(n);
  const auto result = [=] { return zeros<float>(n); };
  softmax_rows<<<rows, 128>>>(columns, in, result());
  softmax_by_warps<<<6, 128>>>(
      22, filled<float4>(22 * 32, [](unsigned i) { return make_float4(i % 5, 1, 2, 3); }),
      zeros<float4>(22 * 32));
  normalise_rows<<<rows, 128, columns * sizeof(float)>>>(columns, in, floats(columns),
                                                         floats(columns), result());
  scale_to_unit<<<rows, 64>>>(
      64, filled<uint4>(rows * 64, [](unsigned) { return make_uint4(0x3c003c00, 0, 0x3c00, 0); }),
      floats(512), zeros<uint4>(rows * 64));
  turn_pairs<<<rows, 64>>>(
      64, filled<float2>(rows * 64, [](unsigned i) { return make_float2(i, 1); }),
      zeros<float2>(rows * 64));
  const auto half_of = [](unsigned i) { return __float2half(float(i % 9)); };
  turn_halves<<<rows, 64>>>(64, filled<half>(rows * 128, half_of), zeros<half>(rows * 128));
  rows_of_table<<<40, 96>>>(
      200, ints_below(40, 50),
      filled<__nv_bfloat16>(10000, [](unsigned i) { return __float2bfloat16(float(i % 7)); }),
      zeros<__nv_bfloat16>(8000));
  gelu<<<(n + 255) / 256, 256>>>(n, in, result());
  add_bias_and_rest<<<dim3(3, rows), 128>>>(columns, floats(columns), in, floats(n));
  quantise_rows<<<rows, 128>>>(columns, in, zeros<int8_t>(n), zeros<float>(rows));
  expand_nibbles<<<8, 256>>>(
      2000, filled<uint8_t>(2000, [](unsigned i) { return uint8_t(mixed(i)); }),
      filled<half>(125, half_of), zeros<half2>(2000));
  attend<<<6, 128, 200 * sizeof(float)>>>(200, floats(6 * 64), floats(200 * 64), floats(200 * 64),
                                          zeros<float>(6 * 64));
  average_channels<<<rows, 128>>>(rows, columns, in, zeros<float>(rows));
  loss_of_labels<<<rows, 64>>>(columns, in, ints_below(rows, columns), zeros<float>(rows));
  return finish();
}
