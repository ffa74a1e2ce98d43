#include "simt/execute.hpp"

#include "simt/execute_args.hpp"

namespace cornerturn::simt {

void execute(Emulator& emulator, const plan::gpu::Plan& plan, void* dst, const void* src, Mode mode,
             const Visitor& visitor, const Vectors& vectors) {
  if (plan.normal.elements() == 0) return;
  std::visit(
      [&](auto args) {
        args.src = static_cast<const std::byte*>(src) + plan.normal.src_offset;
        args.dst = static_cast<std::byte*>(dst) + plan.normal.dst_offset;
        if constexpr (requires { args.scale; }) {
          args.scale.data = vectors.scale;
          args.bias.data = vectors.bias;
        }
        run({emulator, std::string(plan.kernel()), mode, plan.ready.launch, visitor}, args);
      },
      plan.ready.args);
}

}  // namespace cornerturn::simt
