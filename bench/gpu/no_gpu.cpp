// A build without device code: says so.
#include "cornerturn/error.hpp"
#include "cuda/device.hpp"
#include "gpu/accelerator.hpp"

namespace cornerturn::bench {

std::unique_ptr<Accelerator> open_gpu() {
  throw Error(Status::unsupported,
              "no GPU: " + cuda::why_no_gpu().value_or("the benchmark was built without CUDA"));
}

}  // namespace cornerturn::bench
