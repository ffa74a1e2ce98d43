#include "cuda/check.hpp"
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
  hold_kernel<<<1, 1, 0, stream>>>(static_cast<unsigned long long>(1e9 * seconds));
  check_launch(cudaGetLastError());
}

}  // namespace cornerturn::cuda
