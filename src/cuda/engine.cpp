#include "cuda/engine.hpp"

#include "cuda/engine_kernels.hpp"

namespace cornerturn::cuda {

void execute(const plan::gpu::Plan& plan, void* dst, const void* src, Stream stream,
             const Vectors& vectors) {
  if (plan.normal.elements() == 0) return;
  std::visit(
      [&](auto args) {
        args.src = static_cast<const std::byte*>(src) + plan.normal.src_offset;
        args.dst = static_cast<std::byte*>(dst) + plan.normal.dst_offset;
        if constexpr (requires { args.scale; }) {
          args.scale.data = vectors.scale;
          args.bias.data = vectors.bias;
        }
        launch_kernel(args, plan.ready.launch, stream);
      },
      plan.ready.args);
}

void execute(const plan::gpu::BlocksWork& work, Stream stream) {
  std::visit([&](const auto& args) { launch_kernel(args, work.launch, stream); }, work.args);
}

}  // namespace cornerturn::cuda
