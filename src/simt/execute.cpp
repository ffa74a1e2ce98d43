#include "simt/execute.hpp"

namespace cornerturn::simt {

void execute(Emulator& emulator, const plan::gpu::Plan& plan, void* dst, const void* src, Mode mode,
             const Visitor& visitor) {
  if (plan.normal.elements() == 0) return;
  std::visit(
      [&](auto args) {
        args.src = static_cast<const std::byte*>(src) + plan.normal.src_offset;
        args.dst = static_cast<std::byte*>(dst) + plan.normal.dst_offset;
        dispatch(args, [&]<class Kernel>() {
          emulator.launch(
              std::string(plan.kernel()), mode, plan.ready.launch,
              [&](auto& ctx) { Kernel::run(ctx, args); }, visitor);
        });
      },
      plan.ready.args);
}

}  // namespace cornerturn::simt
