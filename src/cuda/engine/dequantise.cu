#include "cuda/engine_kernels.hpp"
#include "cuda/launch.cuh"
#include "kernels/dequantise.hpp"

namespace cornerturn::cuda {

void launch_kernel(const kernels::DequantiseArgs& args, const Launch& shape, Stream stream) {
  launch(args, shape, stream);
}

}  // namespace cornerturn::cuda
