#include "cuda/hold.hpp"

namespace cornerturn::cuda {

namespace {

__global__ void hold_kernel(unsigned long long nanoseconds) {
  const auto now = [] {
    unsigned long long time = 0;
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(time));
    return time;
  };
  const unsigned long long until = now() + nanoseconds;
  while (now() < until) __nanosleep(1000);
}

}  // namespace

void hold(double seconds, Stream stream) {
  auto nanoseconds = static_cast<unsigned long long>(1e9 * seconds);
  void* parameters[] = {&nanoseconds};
  // Its own answer, not cudaGetLastError's: that may still hold what somebody else left there. Who
  // is not held loses nothing but a good time, and what is wrong with the stream is said by what
  // follows.
  if (cudaLaunchKernel(reinterpret_cast<const void*>(&hold_kernel), dim3(1), dim3(1), parameters, 0,
                       stream) != cudaSuccess) {
    cudaGetLastError();
  }
}

}  // namespace cornerturn::cuda
