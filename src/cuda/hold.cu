#include "cuda/check.hpp"
#include "cuda/hold.hpp"

namespace cornerturn::cuda {

namespace {

__device__ unsigned long long nanoseconds_now() {
  unsigned long long now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  return now;
}

__global__ void hold_kernel(unsigned microseconds) {
  const unsigned long long from = nanoseconds_now();
  while (nanoseconds_now() - from < 1000ULL * microseconds) {
  }
}

}  // namespace

void hold(Stream stream, unsigned microseconds) {
  hold_kernel<<<1, 1, 0, stream>>>(microseconds);
  check_launch(cudaGetLastError());
}

}  // namespace cornerturn::cuda
