#include "cuda/engine_kernels.hpp"
#include "cuda/launch.cuh"
#include "kernels/skew_convert.hpp"

namespace cornerturn::cuda {

void launch_kernel(const kernels::SkewConvertArgs& args, const Launch& shape, Stream stream) {
  launch(args, shape, stream);
}

}  // namespace cornerturn::cuda
