#include "cuda/some_kernel.hpp"

namespace cornerturn::cuda {

namespace {

__global__ void nothing_kernel() {}

}  // namespace

const void* some_kernel() {
  return reinterpret_cast<const void*>(&nothing_kernel);
}

}  // namespace cornerturn::cuda
