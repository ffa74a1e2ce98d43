// Scans, sorts, histograms and compactions.
#include "data.hpp"

__global__ void scan_doubling(const int* in, int* out) {
  __shared__ int row[2][256];
  const int t = threadIdx.x;
  int now = 0;
  row[now][t] = in[blockIdx.x * 256 + t];
  __syncthreads();
  for (int step = 1; step < 256; step *= 2) {
    const int next = 1 - now;
    row[next][t] = t >= step ? row[now][t] + row[now][t - step] : row[now][t];
    now = next;
    __syncthreads();
  }
  out[blockIdx.x * 256 + t] = row[now][t];
}

__global__ void scan_tree(const int* in, int* out) {
  __shared__ int tree[512];
  const int t = threadIdx.x;
  const int first = blockIdx.x * 512;
  tree[2 * t] = in[first + 2 * t];
  tree[2 * t + 1] = in[first + 2 * t + 1];
  int step = 1;
  for (int active = 256; active > 0; active /= 2) {
    __syncthreads();
    if (t < active) tree[step * (2 * t + 2) - 1] += tree[step * (2 * t + 1) - 1];
    step *= 2;
  }
  if (t == 0) tree[511] = 0;
  for (int active = 1; active < 512; active *= 2) {
    step /= 2;
    __syncthreads();
    if (t < active) {
      const int left = step * (2 * t + 1) - 1;
      const int right = step * (2 * t + 2) - 1;
      const int kept = tree[left];
      tree[left] = tree[right];
      tree[right] += kept;
    }
  }
  __syncthreads();
  out[first + 2 * t] = tree[2 * t];
  out[first + 2 * t + 1] = tree[2 * t + 1];
}

__device__ int spread(int i) {
  return i + i / 32;
}

__global__ void scan_tree_spread(const int* in, int* out) {
  __shared__ int tree[512 + 16];
  const int t = threadIdx.x;
  const int first = blockIdx.x * 512;
  tree[spread(t)] = in[first + t];
  tree[spread(t + 256)] = in[first + t + 256];
  int step = 1;
  for (int active = 256; active > 0; active /= 2) {
    __syncthreads();
    if (t < active) {
      tree[spread(step * (2 * t + 2) - 1)] += tree[spread(step * (2 * t + 1) - 1)];
    }
    step *= 2;
  }
  if (t == 0) tree[spread(511)] = 0;
  for (int active = 1; active < 512; active *= 2) {
    step /= 2;
    __syncthreads();
    if (t < active) {
      const int left = spread(step * (2 * t + 1) - 1);
      const int right = spread(step * (2 * t + 2) - 1);
      const int kept = tree[left];
      tree[left] = tree[right];
      tree[right] += kept;
    }
  }
  __syncthreads();
  out[first + t] = tree[spread(t)];
  out[first + t + 256] = tree[spread(t + 256)];
}

__global__ void scan_warps(int n, const int* in, int* out, int* totals) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const int lane = threadIdx.x & 31;
  int value = i < n ? in[i] : 0;
  for (int step = 1; step < 32; step <<= 1) {
    const int other = __shfl_up_sync(0xffffffffu, value, step);
    if (lane >= step) value += other;
  }
  if (i < n) out[i] = value;
  if (lane == 31) totals[i / 32] = value;
}

__global__ void sort_bitonic(const int* in, int* out) {
  __shared__ int keys[512];
  const int t = threadIdx.x;
  const int first = blockIdx.x * 512;
  keys[t] = in[first + t];
  keys[t + 256] = in[first + t + 256];
  for (int size = 2; size <= 512; size *= 2) {
    for (int step = size / 2; step > 0; step /= 2) {
      __syncthreads();
      const int low = 2 * t - (t & (step - 1));
      const bool up = (low & size) == 0;
      const int a = keys[low];
      const int b = keys[low + step];
      if ((a > b) == up) {
        keys[low] = b;
        keys[low + step] = a;
      }
    }
  }
  __syncthreads();
  out[first + t] = keys[t];
  out[first + t + 256] = keys[t + 256];
}

__global__ void sort_odd_even(int rounds, int* keys) {
  __shared__ int row[128];
  const int t = threadIdx.x;
  row[2 * t] = keys[blockIdx.x * 128 + 2 * t];
  row[2 * t + 1] = keys[blockIdx.x * 128 + 2 * t + 1];
  for (int round = 0; round < rounds; ++round) {
    __syncthreads();
    const int at = 2 * t + round % 2;
    if (at + 1 < 128 && row[at] > row[at + 1]) {
      const int kept = row[at];
      row[at] = row[at + 1];
      row[at + 1] = kept;
    }
  }
  __syncthreads();
  keys[blockIdx.x * 128 + 2 * t] = row[2 * t];
  keys[blockIdx.x * 128 + 2 * t + 1] = row[2 * t + 1];
}

__global__ void count_digits(int n, int shift, const unsigned* keys, unsigned* counts) {
  __shared__ unsigned of_digit[16][64];
  for (int d = 0; d < 16; ++d) of_digit[d][threadIdx.x] = 0;
  for (int i = blockIdx.x * 64 + threadIdx.x; i < n; i += gridDim.x * 64) {
    ++of_digit[(keys[i] >> shift) & 15][threadIdx.x];
  }
  __syncthreads();
  if (threadIdx.x < 16) {
    unsigned sum = 0;
    for (int t = 0; t < 64; ++t) sum += of_digit[threadIdx.x][t];
    counts[threadIdx.x * gridDim.x + blockIdx.x] = sum;
  }
}

__global__ void histogram_of_bytes(int n, const unsigned char* in, unsigned* counts) {
  __shared__ unsigned bins[256];
  bins[threadIdx.x] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    atomicAdd(&bins[in[i]], 1u);
  }
  __syncthreads();
  if (bins[threadIdx.x] > 0) atomicAdd(&counts[threadIdx.x], bins[threadIdx.x]);
}

__global__ void histogram_in_memory(int n, const int* in, int* counts) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomicAdd(counts + in[i], 1);
}

__global__ void keep_positive(const float* in, float* out, int* kept) {
  __shared__ int before[8];
  const int i = blockIdx.x * 256 + threadIdx.x;
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const float value = in[i];
  const unsigned votes = __ballot_sync(0xffffffffu, value > 0.0f);
  if (lane == 0) before[warp] = __popc(votes);
  __syncthreads();
  int at = __popc(votes & ((1u << lane) - 1));
  for (int w = 0; w < warp; ++w) at += before[w];
  if (value > 0.0f) out[blockIdx.x * 256 + at] = value;
  if (threadIdx.x == 255) kept[blockIdx.x] = at + (value > 0.0f);
}

__global__ void find_in_sorted(int n, int queries, const int* sorted, const int* wanted, int* at) {
  const int q = blockIdx.x * blockDim.x + threadIdx.x;
  if (q >= queries) return;
  const int value = wanted[q];
  int low = 0, high = n;
  while (low < high) {
    const int middle = (low + high) / 2;
    if (sorted[middle] < value) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  at[q] = low;
}

__global__ void reverse_blocks(const int* in, int* out) {
  __shared__ int row[256];
  row[threadIdx.x] = in[blockIdx.x * 256 + threadIdx.x];
  __syncthreads();
  out[(gridDim.x - 1 - blockIdx.x) * 256 + threadIdx.x] = row[255 - threadIdx.x];
}

int main() {
  const int n = 512 * 12;
  int* const numbers = ints_below(n, 1000);
  scan_doubling<<<24, 256>>>(numbers, zeros<int>(n));
  scan_tree<<<12, 256>>>(numbers, zeros<int>(n));
  scan_tree_spread<<<12, 256>>>(numbers, zeros<int>(n));
  scan_warps<<<24, 256>>>(n - 9, numbers, zeros<int>(n), zeros<int>(n / 32));
  sort_bitonic<<<12, 256>>>(numbers, zeros<int>(n));
  sort_odd_even<<<4, 64>>>(128, ints_below(4 * 128, 1000));
  count_digits<<<6, 64>>>(n, 4, filled<unsigned>(n, mixed), zeros<unsigned>(16 * 6));
  histogram_of_bytes<<<6, 256>>>(
      n, filled<unsigned char>(n, [](unsigned i) { return (unsigned char)(mixed(i) % 40); }),
      zeros<unsigned>(256));
  histogram_in_memory<<<24, 256>>>(n, ints_below(n, 77), zeros<int>(77));
  keep_positive<<<24, 256>>>(floats(n), zeros<float>(n), zeros<int>(24));
  find_in_sorted<<<5, 256>>>(n, 1200, filled<int>(n, [](unsigned i) { return int(i / 6); }),
                             numbers, zeros<int>(1200));
  reverse_blocks<<<24, 256>>>(numbers, zeros<int>(n));
  return finish();
}
