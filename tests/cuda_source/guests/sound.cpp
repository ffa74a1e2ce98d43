// Kernels that are right, and look like the broken ones: nothing may be found in them. Each checks
// its own result.
#include "guest.hpp"

__global__ void double_buffer(const int* in, int* out) {
  __shared__ int tile[2][64];
  for (int i = 0; i < 4; ++i) {
    tile[i % 2][threadIdx.x] = in[64 * i + threadIdx.x];
    __syncthreads();
    out[64 * i + threadIdx.x] = tile[i % 2][63 - threadIdx.x];
  }
}

__global__ void block_sum(const int* in, int* out) {
  extern __thread int cells[] __asm__("cornerturn_dynamic_shared");
  cells[threadIdx.x] = in[blockIdx.x * blockDim.x + threadIdx.x];
  __syncthreads();
  for (int half = blockDim.x / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) cells[threadIdx.x] += cells[threadIdx.x + half];
    __syncthreads();
  }
  if (threadIdx.x == 0) out[blockIdx.x] = cells[0];
}

__global__ void warp_sum(const int* in, int* out) {
  __shared__ int sums[8];
  int sum = in[threadIdx.x];
  for (int step = 16; step > 0; step /= 2) sum += __shfl_down_sync(0xffffffffu, sum, step);
  if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x < 8) {
    sum = sums[threadIdx.x];
    for (int step = 4; step > 0; step /= 2) sum += __shfl_down_sync(0xffu, sum, step);
    if (threadIdx.x == 0) out[0] = sum;
  }
}

__global__ void halves_of_a_warp(int* out) {
  int value = threadIdx.x;
  if (threadIdx.x % 32 < 16) {
    for (int i = 0; i < 3; ++i) value += __shfl_xor_sync(0x0000ffffu, value, 1);
  } else {
    value += __shfl_xor_sync(0xffff0000u, value, 2);
    __syncwarp(0xffff0000u);
  }
  value += __shfl_xor_sync(0xffffffffu, value, 16);
  out[threadIdx.x] = value;
}

__global__ void warp_tile(const int* in, int* out) {
  __shared__ int tile[64];
  tile[threadIdx.x] = in[threadIdx.x];
  __syncwarp();
  out[threadIdx.x] = tile[threadIdx.x ^ 31];
}

__global__ void histogram(const int* in, int* bins) {
  __shared__ int mine[4];
  if (threadIdx.x < 4) mine[threadIdx.x] = 0;
  __syncthreads();
  atomicAdd(&mine[in[blockIdx.x * 64 + threadIdx.x] % 4], 1);
  __syncthreads();
  if (threadIdx.x < 4) atomicAdd(&bins[threadIdx.x], mine[threadIdx.x]);
}

// The last block adds up what all blocks have written.
__global__ void last_block(const int* in, int* parts, unsigned* count, int* out) {
  __shared__ bool last;
  if (threadIdx.x == 0) {
    parts[blockIdx.x] = in[blockIdx.x];
    __threadfence();
    last = atomicAdd(count, 1) == gridDim.x - 1;
  }
  __syncthreads();
  if (!last) return;
  if (threadIdx.x == 0) {
    int sum = 0;
    for (int i = 0; i < gridDim.x; ++i) sum += parts[i];
    out[0] = sum;
  }
}

__global__ void lock(int* lock, int* sum) {
  for (bool done = false; !done;) {
    if (atomicCAS(lock, 0, 1) == 0) {
      __threadfence();
      *sum += 1;
      __threadfence();
      atomicExch(lock, 0);
      done = true;
    }
  }
}

// One warp waits for a flag of a later one.
__global__ void warp_waits(volatile int* flag, volatile int* data, int* out) {
  if (threadIdx.x == 0) {
    while (*flag == 0) {
    }
    __threadfence();
    out[0] = *data;
  }
  if (threadIdx.x == 32) {
    *data = 42;
    __threadfence();
    *flag = 1;
  }
}

// Each block waits for its predecessor.
__global__ void chain(volatile int* sums, volatile int* ready, const int* in) {
  if (threadIdx.x != 0) return;
  int before = 0;
  if (blockIdx.x > 0) {
    while (ready[blockIdx.x - 1] == 0) {
    }
    __threadfence();
    before = sums[blockIdx.x - 1];
  }
  sums[blockIdx.x] = before + in[blockIdx.x];
  __threadfence();
  ready[blockIdx.x] = 1;
}

__global__ void async_tile(const int* in, int* out) {
  __shared__ int tile[64];
  __pipeline_memcpy_async(&tile[threadIdx.x], &in[threadIdx.x], 4);
  __pipeline_commit();
  __pipeline_wait_prior(0);
  __syncthreads();
  out[threadIdx.x] = tile[63 - threadIdx.x];
}

__global__ void edges(const int* in, int* out, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  out[i] = in[i];
}

__global__ void in_place(int* data) {
  const int i = blockIdx.x * 64 + threadIdx.x;
  const int value = data[i ^ 1];
  __syncthreads();
  data[i] = value;
}

__global__ void votes(int* out) {
  const int all = __syncthreads_and(threadIdx.x < 64);
  const int some = __syncthreads_or(threadIdx.x == 63);
  const int count = __syncthreads_count(threadIdx.x % 2 == 0);
  out[threadIdx.x] = 100 * all + 1000 * some + count;
}

__global__ void vectors(const int4* in, int4* out) {
  const int4 four = in[threadIdx.x];
  out[threadIdx.x] = make_int4(four.w, four.z, four.y, four.x);
}

__constant__ int weights[4];
CT_GUEST_DEVICE_VARIABLE int counter;

__global__ void variables(const int* in, int* out) {
  atomicAdd(&counter, 1);
  out[threadIdx.x] = in[threadIdx.x] * weights[threadIdx.x % 4];
}

__global__ void gather(const int* in, int* out) {
  unsigned mask = __activemask();
  if (threadIdx.x % 3 == 0) {
    mask = __activemask();
    out[threadIdx.x] = __popc(mask);
  } else {
    out[threadIdx.x] = in[threadIdx.x];
  }
}

int main() {
  int* in = numbers(256);
  int* out = room(1024);
  std::vector<int> got;

  LAUNCH(double_buffer, 1, 64, in, out);
  got = fetch(out, 256);
  for (int i = 0; i < 256; ++i) EXPECT(got[i] == i / 64 * 64 + 63 - i % 64);
  LAUNCH_WITH(block_sum, 4, 64, 64 * sizeof(int), in, out);
  EXPECT(fetch(out, 4)[3] == 64 * (192 + 255) / 2);
  LAUNCH(warp_sum, 1, 256, in, out);
  EXPECT(fetch(out, 1)[0] == 255 * 128);
  LAUNCH(halves_of_a_warp, 1, 64, out);
  got = fetch(out, 64);
  EXPECT(got[0] == 4 + 34 && got[63] == got[47]);
  LAUNCH(warp_tile, 1, 64, in, out);
  EXPECT(fetch(out, 64)[33] == 62);
  int* zeros = room(64);
  cudaMemset(zeros, 0, 256);
  LAUNCH(histogram, 4, 64, in, zeros);
  EXPECT(fetch(zeros, 4)[2] == 64);
  LAUNCH(last_block, 16, 32, in, out, reinterpret_cast<unsigned*>(zeros) + 8, out + 100);
  EXPECT(fetch(out, 101)[100] == 120);
  LAUNCH(lock, 4, 64, zeros + 9, zeros + 10);
  EXPECT(fetch(zeros, 11)[10] == 256);
  LAUNCH(warp_waits, 1, 64, zeros + 11, zeros + 12, out);
  EXPECT(fetch(out, 1)[0] == 42);
  LAUNCH(chain, 16, 32, out, zeros + 16, in);
  EXPECT(fetch(out, 16)[15] == 120);
  LAUNCH(async_tile, 1, 64, in, out);
  EXPECT(fetch(out, 64)[1] == 62);
  LAUNCH(edges, 4, 64, in, out, 200);
  EXPECT(fetch(out, 200)[199] == 199);
  LAUNCH(votes, 1, 64, out);
  EXPECT(fetch(out, 64)[9] == 1132);
  LAUNCH(vectors, 1, 64, reinterpret_cast<const int4*>(in), reinterpret_cast<int4*>(out));
  EXPECT(fetch(out, 8)[4] == 7);
  const int host_weights[4] = {1, 2, 3, 4};
  cudaMemcpyToSymbol(weights, host_weights, sizeof(host_weights));
  LAUNCH(variables, 1, 64, in, out);
  EXPECT(fetch(out, 64)[63] == 252);
  int count = 0;
  cudaMemcpyFromSymbol(&count, counter, sizeof(count));
  EXPECT(count == 64);
  LAUNCH(gather, 1, 32, in, out);
  EXPECT(fetch(out, 32)[3] == 11);
  LAUNCH(in_place, 4, 64, in);
  EXPECT(fetch(in, 256)[9] == 8);

  EXPECT(cudaGetLastError() == cudaSuccess);
  cudaFree(in);
  cudaFree(out);
  cudaFree(zeros);
  std::puts("all right");
  return 0;
}
