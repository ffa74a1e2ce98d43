#include "cuda/engine_kernels.hpp"
#include "cuda/launch.cuh"
#include "kernels/quantise.hpp"

namespace cornerturn::cuda {

void launch_kernel(const kernels::QuantiseArgs& args, const Launch& shape, Stream stream) {
  launch(args, shape, stream);
}

}  // namespace cornerturn::cuda
