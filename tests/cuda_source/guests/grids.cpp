// Blocks that wait for each other, at the grid's barrier or for what another one stores. With
// `right` as its argument the program runs those that are right, and checks their results; else the
// broken one that the argument names, with marks as in faults.cpp.
#include "guest.hpp"

namespace cg = cooperative_groups;

// Each round every block reads what all blocks have stored in the round before. Shared memory and
// locals outlive the barrier.
__global__ void rounds(int* parts, int* out) {
  __shared__ int mine[32];
  mine[threadIdx.x] = blockIdx.x;
  int sum = 0;
  for (int round = 0; round < 3; ++round) {
    if (threadIdx.x == round) parts[blockIdx.x] = mine[threadIdx.x] + round;
    cg::this_grid().sync();
    sum += parts[(blockIdx.x + threadIdx.x) % gridDim.x];
    cg::this_grid().sync();
  }
  __syncwarp();
  out[blockIdx.x * 32 + threadIdx.x] = sum + 1000 * mine[31 - threadIdx.x];
}

// Threads of a block come to the barrier by way of others that wait for the block alone.
__global__ void two_kinds(const int* in, int* out) {
  __shared__ int cells[64];
  cells[threadIdx.x] = in[64 * blockIdx.x + threadIdx.x];
  __syncthreads();
  const int other = cells[63 - threadIdx.x];
  out[64 * blockIdx.x + threadIdx.x] = other;
  cg::this_grid().sync();
  const int block = (blockIdx.x + 1) % gridDim.x;
  const int next = out[64 * block + threadIdx.x];
  cg::this_grid().sync();
  cells[threadIdx.x] = next;
  __syncthreads();
  out[64 * blockIdx.x + threadIdx.x] = cells[threadIdx.x ^ 1];
}

// A barrier of the grid made by hand: blocks count themselves.
__global__ void counted(int* parts, unsigned* count, int* out) {
  parts[64 * blockIdx.x + threadIdx.x] = blockIdx.x + threadIdx.x;
  __syncthreads();
  if (threadIdx.x == 0) {
    __threadfence();
    atomicAdd(count, 1u);
    while (atomicAdd(count, 0u) < gridDim.x) {
    }
    __threadfence();
  }
  __syncthreads();
  const int block = gridDim.x - 1 - blockIdx.x;
  out[64 * blockIdx.x + threadIdx.x] = parts[64 * block + 63 - threadIdx.x];
}

// The first block waits for all others, and they for it: so they are ordered with each other.
__global__ void by_the_first(int* parts, volatile int* here, volatile int* go, int* out) {
  parts[32 * blockIdx.x + threadIdx.x] = blockIdx.x;
  __syncthreads();
  if (blockIdx.x == 0) {
    if (threadIdx.x > 0 && threadIdx.x < gridDim.x) {
      while (here[threadIdx.x] == 0) {
      }
      __threadfence();
    }
    __syncthreads();
    if (threadIdx.x == 0) {
      __threadfence();
      *go = 1;
    }
  } else if (threadIdx.x == 0) {
    __threadfence();
    here[blockIdx.x] = 1;
    while (*go == 0) {
    }
    __threadfence();
  }
  __syncthreads();
  out[32 * blockIdx.x + threadIdx.x] = parts[32 * ((blockIdx.x + 1) % gridDim.x) + threadIdx.x];
}

// The first block waits for the last one.
__global__ void backwards(volatile int* ready, int* data, int* out) {
  if (threadIdx.x != 0) return;
  if (blockIdx.x + 1 < gridDim.x) {
    while (ready[blockIdx.x + 1] == 0) {
    }
    __threadfence();
    out[blockIdx.x] = data[blockIdx.x + 1];
  }
  data[blockIdx.x] = blockIdx.x;
  __threadfence();
  ready[blockIdx.x] = 1;
}

__global__ void no_grid_barrier(int* parts, int* out) {
  parts[32 * blockIdx.x + threadIdx.x] = threadIdx.x;  // no_grid_barrier.2
  __syncthreads();
  const int block = (blockIdx.x + 1) % gridDim.x;
  out[32 * blockIdx.x + threadIdx.x] = parts[32 * block + threadIdx.x];  // no_grid_barrier.1
}

__global__ void one_grid_barrier(int* parts, int* out) {
  int sum = 0;
  for (int round = 0; round < 2; ++round) {
    parts[32 * blockIdx.x + threadIdx.x] = round;  // one_grid_barrier.1
    cg::this_grid().sync();
    sum += parts[32 * ((blockIdx.x + 1) % gridDim.x) + threadIdx.x];  // one_grid_barrier.2
  }
  out[32 * blockIdx.x + threadIdx.x] = sum;
}

// What a thread stores before the grid's barrier is ordered, what it stores after it is not.
__global__ void after_the_grid_barrier(int* parts, int* out) {
  cg::this_grid().sync();
  parts[32 * blockIdx.x + threadIdx.x] = 1;  // after_the_grid_barrier.2
  out[32 * blockIdx.x + threadIdx.x] =
      parts[(32 * blockIdx.x + threadIdx.x + 32) % (32 * gridDim.x)];  // after_the_grid_barrier.1
}

__global__ void block_stays_away(int* out) {
  if (blockIdx.x == 2) return;
  cg::this_grid().sync();  // block_stays_away.1
  out[32 * blockIdx.x + threadIdx.x] = 1;
}

__global__ void threads_stay_away(int* out) {
  if (threadIdx.x >= 32) return;
  cg::this_grid().sync();  // threads_stay_away.1
  out[32 * blockIdx.x + threadIdx.x] = 1;
}

__global__ void grid_or_block(int* out) {
  if (threadIdx.x < 32) {
    cg::this_grid().sync();  // grid_or_block.2
  } else {
    __syncthreads();  // grid_or_block.1
  }
  out[64 * blockIdx.x + threadIdx.x] = 1;
}

__global__ void two_grid_barriers(int* out) {
  if (threadIdx.x < 32) {
    cg::this_grid().sync();  // two_grid_barriers.1
  } else {
    cg::this_grid().sync();  // two_grid_barriers.2
  }
  out[64 * blockIdx.x + threadIdx.x] = 1;
}

__global__ void alone(int* out) {
  cg::this_grid().sync();  // alone.1
  out[threadIdx.x] = 1;
}

__global__ void crowded(int* out) {
  cg::this_grid().sync();
  out[0] = 1;
}

__global__ void crowded_shared(int* out) {
  __shared__ int most[11000];
  most[threadIdx.x] = 1;
  cg::this_grid().sync();
  if (blockIdx.x == 0) out[threadIdx.x] = most[threadIdx.x];
}

// The first block waits for the last, which begins when the device has room for it.
__global__ void no_room(volatile int* ready) {
  if (threadIdx.x != 0) return;
  if (blockIdx.x + 1 == gridDim.x) {
    *ready = 1;
  } else {
    while (*ready == 0) {  // no_room.1
    }
  }
}

__global__ void nobody_comes(volatile int* ready) {
  if (threadIdx.x != 0) return;
  while (ready[(blockIdx.x + 1) % gridDim.x] == 0) {  // nobody_comes.1
  }
  ready[blockIdx.x] = 1;
}

void right() {
  int* in = numbers(512);
  int* out = room(512);
  int* parts = room(512);
  int* zeros = room(64);
  cudaMemset(zeros, 0, 256);
  void* two[] = {&parts, &out};
  LAUNCH_TOGETHER(rounds, 8, 32, two);
  std::vector<int> got = fetch(out, 256);
  for (int i = 0; i < 256; ++i) EXPECT(got[i] == 3 * ((i / 32 + i % 32) % 8) + 3 + 1000 * (i / 32));
  void* in_out[] = {&in, &out};
  LAUNCH_TOGETHER(two_kinds, 8, 64, in_out);
  got = fetch(out, 512);
  for (int i = 0; i < 512; ++i) EXPECT(got[i] == (i / 64 + 1) % 8 * 64 + 63 - (i % 64 ^ 1));
  LAUNCH(counted, 8, 64, parts, reinterpret_cast<unsigned*>(zeros), out);
  got = fetch(out, 512);
  for (int i = 0; i < 512; ++i) EXPECT(got[i] == 7 - i / 64 + 63 - i % 64);
  LAUNCH(by_the_first, 8, 32, parts, zeros + 8, zeros + 16, out);
  got = fetch(out, 256);
  for (int i = 0; i < 256; ++i) EXPECT(got[i] == (i / 32 + 1) % 8);
  LAUNCH(backwards, 8, 32, zeros + 24, parts, out);
  got = fetch(out, 7);
  for (int i = 0; i < 7; ++i) EXPECT(got[i] == i + 1);
  EXPECT(cudaGetLastError() == cudaSuccess);
  for (int* memory : {in, out, parts, zeros}) cudaFree(memory);
  std::puts("all right");
}

int main(int, char** words) {
  const auto is = [&](const char* kernel) { return std::strcmp(words[1], kernel) == 0; };
  if (is("right")) {
    right();
    return 0;
  }
  int* out = room(8192);
  int* parts = room(256);
  void* two[] = {&parts, &out};
  void* one[] = {&out};
  if (is("no_grid_barrier")) LAUNCH_TOGETHER(no_grid_barrier, 4, 32, two);
  if (is("one_grid_barrier")) LAUNCH_TOGETHER(one_grid_barrier, 4, 32, two);
  if (is("after_the_grid_barrier")) LAUNCH_TOGETHER(after_the_grid_barrier, 4, 32, two);
  if (is("block_stays_away")) LAUNCH_TOGETHER(block_stays_away, 4, 32, one);
  if (is("threads_stay_away")) LAUNCH_TOGETHER(threads_stay_away, 4, 64, one);
  if (is("grid_or_block")) LAUNCH_TOGETHER(grid_or_block, 4, 64, one);
  if (is("two_grid_barriers")) LAUNCH_TOGETHER(two_grid_barriers, 4, 64, one);
  if (is("alone")) LAUNCH(alone, 1, 32, out);
  if (is("crowded")) {
    const cudaError_t error = LAUNCH_TOGETHER(crowded, 5, 1024, one);  // crowded.1
    EXPECT(error == cudaErrorCooperativeLaunchTooLarge);
    EXPECT(cudaGetLastError() == error && cudaGetLastError() == cudaSuccess);
  }
  if (is("crowded_shared")) LAUNCH_TOGETHER(crowded_shared, 11, 32, one);  // crowded_shared.1
  cudaMemset(parts, 0, 16);
  if (is("no_room")) LAUNCH(no_room, 5, 1024, parts);
  if (is("nobody_comes")) LAUNCH(nobody_comes, 4, 32, parts);
  cudaDeviceSynchronize();
  cudaGetLastError();
  cudaFree(parts);
  cudaFree(out);
  return 0;
}
