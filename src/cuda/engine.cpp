#include "cuda/engine.hpp"

#include "cuda/engine_kernels.hpp"

namespace cornerturn::cuda {

void execute(const plan::gpu::Plan& plan, void* dst, const void* src, Stream stream) {
  if (plan.normal.elements() == 0) return;
  std::visit(
      [&](auto args) {
        args.src = static_cast<const std::byte*>(src) + plan.normal.src_offset;
        args.dst = static_cast<std::byte*>(dst) + plan.normal.dst_offset;
        launch_kernel(args, plan.ready.launch, stream);
      },
      plan.ready.args);
}

}  // namespace cornerturn::cuda
