// Kernels that are broken on purpose, one of which runs: the program's argument names it. Where a
// finding must point is marked by the kernel's name: `// NAME.1` is the place of the thread that
// was seen to collide, `// NAME.2` the other one's.
#include "guest.hpp"

constexpr int side = 32;

__global__ void missing_barrier(const int* in, int* out) {
  __shared__ int tile[256];
  tile[threadIdx.x] = in[threadIdx.x];         // missing_barrier.2
  out[threadIdx.x] = tile[255 - threadIdx.x];  // missing_barrier.1
}

__global__ void missing_second_barrier(const int* in, int* out) {
  __shared__ int tile[64];
  for (int i = 0; i < 2; ++i) {
    tile[threadIdx.x] = in[64 * i + threadIdx.x];  // missing_second_barrier.1
    __syncthreads();
    out[64 * i + threadIdx.x] = tile[63 - threadIdx.x];  // missing_second_barrier.2
  }
}

__global__ void missing_warp_barrier(const int* in, int* out) {
  __shared__ int tile[32];
  tile[threadIdx.x] = in[threadIdx.x];        // missing_warp_barrier.2
  out[threadIdx.x] = tile[31 - threadIdx.x];  // missing_warp_barrier.1
}

__global__ void warp_in_step(int* out) {
  __shared__ volatile int tile[32];
  tile[threadIdx.x] = threadIdx.x;            // warp_in_step.2
  out[threadIdx.x] = tile[31 - threadIdx.x];  // warp_in_step.1
}

__global__ void blocks_race(int* out) {
  if (blockIdx.x == 0) out[threadIdx.x] = 1;                      // blocks_race.2
  if (blockIdx.x == 1) out[32 + threadIdx.x] = out[threadIdx.x];  // blocks_race.1
}

__global__ void read_then_written(int* data) {
  const int i = blockIdx.x * 32 + threadIdx.x;
  const int next = data[(i + 1) % 64];  // read_then_written.2
  __syncthreads();
  data[i] = next;  // read_then_written.1
}

__global__ void plain_histogram(const int* in, int* bins) {
  const int i = blockIdx.x * 32 + threadIdx.x;
  bins[in[i] % 4] += 1;  // plain_histogram.1 plain_histogram.2
}

__global__ void mixed_atomic(int* sum, int* out) {
  atomicAdd(sum, 1);        // mixed_atomic.2
  out[threadIdx.x] = *sum;  // mixed_atomic.1
}

__global__ void same_value(int* flag) {
  *flag = 7;  // same_value.1 same_value.2
}

__global__ void unwritten_shared(int* out) {
  __shared__ int tile[64];
  if (threadIdx.x < 32) tile[threadIdx.x] = 1;
  __syncthreads();
  out[threadIdx.x] = tile[threadIdx.x + 1];  // unwritten_shared.1
}

__global__ void unwritten_global(const int* in, int* out) {
  out[threadIdx.x] = in[threadIdx.x];  // unwritten_global.1
}

__global__ void stray_load(const int* in, int* out) {
  out[threadIdx.x] = in[threadIdx.x + 1];  // stray_load.1
}

__global__ void stray_store(int* out) {
  out[static_cast<int>(threadIdx.x) - 1] = 5;  // stray_store.1
}

__global__ void stray_dynamic(int* out) {
  extern __thread int cells[] __asm__("cornerturn_dynamic_shared");
  cells[threadIdx.x] = 1;  // stray_dynamic.1
  __syncthreads();
  out[threadIdx.x] = cells[threadIdx.x % 16];
}

__global__ void misaligned_vector(const int* in, int4* out) {
  out[0] = *reinterpret_cast<const int4*>(in + 1);  // misaligned_vector.1
}

__global__ void barriers_in_branches(int* out) {
  if (threadIdx.x < 32) {
    __syncthreads();  // barriers_in_branches.1
    out[threadIdx.x] = 1;
  } else {
    __syncthreads();  // barriers_in_branches.2
    out[threadIdx.x] = 2;
  }
}

__global__ void barrier_for_some(int* out) {
  if (threadIdx.x < 32) __syncthreads();  // barrier_for_some.1
  out[threadIdx.x] = 1;
}

__global__ void wrong_mask(int* out) {
  int sum = threadIdx.x;
  if (threadIdx.x < 16) {
    sum += __shfl_xor_sync(0xffffffffu, sum, 1);  // wrong_mask.1
  } else {
    __syncthreads();  // wrong_mask.2
  }
  out[threadIdx.x] = sum;
}

__global__ void mask_of_others(int* out) {
  int sum = threadIdx.x;
  if (threadIdx.x < 16) {
    sum += __shfl_xor_sync(0xffff0000u, sum, 1);  // mask_of_others.1
  }
  out[threadIdx.x] = sum;
}

__global__ void mask_of_a_half(int* out) {
  out[threadIdx.x] = __ballot_sync(0x0000ffffu, threadIdx.x % 2);  // mask_of_a_half.1
}

__global__ void two_masks(int* out) {
  if (threadIdx.x < 16) {
    __syncwarp(0x0001ffffu);  // two_masks.1
    out[threadIdx.x] = 1;
  } else {
    __syncwarp(0xffff8000u);  // two_masks.2
    out[threadIdx.x] = 2;
  }
}

__global__ void shuffles_in_branches(int* out) {
  int value = threadIdx.x;
  if (threadIdx.x % 2 == 0) {
    value = __shfl_xor_sync(0xffffffffu, value, 1);  // shuffles_in_branches.1
  } else {
    value = __shfl_xor_sync(0xffffffffu, value, 2);  // shuffles_in_branches.2
  }
  out[threadIdx.x] = value;
}

__global__ void mask_of_ended(const int* in, int* out, int count) {
  if (threadIdx.x >= count) return;
  int sum = in[threadIdx.x];
  for (int step = 16; step > 0; step /= 2) {
    sum += __shfl_down_sync(0xffffffffu, sum, step);  // mask_of_ended.1
  }
  if (threadIdx.x == 0) out[0] = sum;
}

__global__ void short_block(const int* in, int* out) {
  out[threadIdx.x] = __shfl_down_sync(0xffffffffu, in[threadIdx.x], 8);  // short_block.1
}

__global__ void tile_of_ended(const int* in, int* out) {
  if (threadIdx.x == 5) return;
  const auto tile = cooperative_groups::tiled_partition<8>(cooperative_groups::this_thread_block());
  out[threadIdx.x] = tile.shfl_xor(in[threadIdx.x], 1);  // tile_of_ended.1
}

__global__ void misaligned_store(int* out) {
  *reinterpret_cast<int4*>(out + 2) = make_int4(1, 2, 3, 4);  // misaligned_store.1
}

__global__ void misaligned_tile(const int* in, int* out) {
  __shared__ int tile[40];
  tile[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  const int4 four = *reinterpret_cast<const int4*>(&tile[threadIdx.x]);  // misaligned_tile.1
  out[threadIdx.x] = four.x;
}

__global__ void copy_in_flight(const int* in, int* out) {
  __shared__ int tile[32];
  __pipeline_memcpy_async(&tile[threadIdx.x], &in[threadIdx.x], 4);  // copy_in_flight.2
  __pipeline_commit();
  __syncthreads();
  out[threadIdx.x] = tile[31 - threadIdx.x];  // copy_in_flight.1
}

__global__ void use_after_free(const int* in, int* out) {
  out[threadIdx.x] = in[threadIdx.x];  // use_after_free.1
}

__global__ void host_pointer(const int* in, int* out) {
  out[threadIdx.x] = in[threadIdx.x];  // host_pointer.1
}

__global__ void null_pointer(const int* in, int* out) {
  out[threadIdx.x] = in[threadIdx.x];  // null_pointer.1
}

__global__ void endless(volatile int* flag) {
  while (*flag == 0) {  // endless.1
  }
}

__global__ void trapped(int* out) {
  if (threadIdx.x == 5) __trap();  // trapped.1
  out[threadIdx.x] = 1;
}

__global__ void flag_without_fence(int* data, int* flag, int* out) {
  if (blockIdx.x == 0) {
    data[0] = 1;  // flag_without_fence.2
    atomicExch(flag, 1);
  } else if (atomicAdd(flag, 0) == 1) {
    out[0] = data[0];  // flag_without_fence.1
  }
}

__global__ void wide(int* out) {
  out[threadIdx.x] = 1;
}

int main(int, char** words) {
  const char* name = words[1];
  int* in = numbers(256);
  int* out = room(256);
  const auto is = [&](const char* kernel) { return std::strcmp(name, kernel) == 0; };
  if (is("missing_barrier")) LAUNCH(missing_barrier, 1, 256, in, out);
  if (is("missing_second_barrier")) LAUNCH(missing_second_barrier, 1, 64, in, out);
  if (is("missing_warp_barrier")) LAUNCH(missing_warp_barrier, 1, 32, in, out);
  if (is("warp_in_step")) LAUNCH(warp_in_step, 1, 32, out);
  if (is("blocks_race")) LAUNCH(blocks_race, 2, 32, out);
  if (is("read_then_written")) LAUNCH(read_then_written, 2, 32, in);
  if (is("plain_histogram")) LAUNCH(plain_histogram, 2, 32, in, in + 128);
  if (is("mixed_atomic")) LAUNCH(mixed_atomic, 1, 64, in, out);
  if (is("same_value")) LAUNCH(same_value, 1, 64, out);
  if (is("unwritten_shared")) LAUNCH(unwritten_shared, 1, 32, out);
  if (is("unwritten_global")) LAUNCH(unwritten_global, 1, 32, out, in);
  if (is("stray_load")) LAUNCH(stray_load, 1, 256, in, out);
  if (is("stray_store")) LAUNCH(stray_store, 1, 32, out);
  if (is("stray_dynamic")) LAUNCH_WITH(stray_dynamic, 1, 32, 64, out);
  if (is("misaligned_vector")) LAUNCH(misaligned_vector, 1, 1, in, reinterpret_cast<int4*>(out));
  if (is("barriers_in_branches")) LAUNCH(barriers_in_branches, 1, 64, out);
  if (is("barrier_for_some")) LAUNCH(barrier_for_some, 1, 64, out);
  if (is("wrong_mask")) LAUNCH(wrong_mask, 1, 32, out);
  if (is("mask_of_others")) LAUNCH(mask_of_others, 1, 32, out);
  if (is("mask_of_a_half")) LAUNCH(mask_of_a_half, 1, 32, out);
  if (is("two_masks")) LAUNCH(two_masks, 1, 32, out);
  if (is("shuffles_in_branches")) LAUNCH(shuffles_in_branches, 1, 32, out);
  if (is("mask_of_ended")) LAUNCH(mask_of_ended, 1, 32, in, out, 20);
  if (is("short_block")) LAUNCH(short_block, 1, 48, in, out);
  if (is("tile_of_ended")) LAUNCH(tile_of_ended, 1, 32, in, out);
  if (is("misaligned_store")) LAUNCH(misaligned_store, 1, 1, out);
  if (is("misaligned_tile")) LAUNCH(misaligned_tile, 1, 32, in, out);
  if (is("copy_in_flight")) LAUNCH(copy_in_flight, 1, 32, in, out);
  if (is("use_after_free")) {
    cudaFree(in);
    LAUNCH(use_after_free, 1, 32, in, out);
    in = nullptr;
  }
  if (is("host_pointer")) {
    std::vector<int> host(32);
    LAUNCH(host_pointer, 1, 32, host.data(), out);
  }
  if (is("null_pointer")) LAUNCH(null_pointer, 1, 32, nullptr, out);
  if (is("endless")) {
    cudaMemset(out, 0, 4);
    LAUNCH(endless, 1, 1, out);
  }
  if (is("trapped")) LAUNCH(trapped, 1, 32, out);
  if (is("flag_without_fence")) {
    cudaMemset(in, 0, 8);
    LAUNCH(flag_without_fence, 2, 1, in, in + 1, out);
  }
  if (is("wide")) LAUNCH(wide, 1, 2048, out);               // wide.1
  if (is("host_reads_device")) std::printf("%d\n", in[3]);  // host_reads_device.1
  if (is("crash")) {
    volatile int zero = 0;
    std::printf("%d\n", 100 / zero);  // crash.1
  }
  if (is("null_on_host")) {
    int* volatile none = nullptr;
    std::printf("%d\n", *none);  // null_on_host.1
  }
  cudaDeviceSynchronize();
  cudaGetLastError();
  cudaFree(in);
  cudaFree(out);
  return 0;
}
