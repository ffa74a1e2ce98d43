#include "cuda/engine.hpp"

#include "cuda/engine_kernels.hpp"
#include "plan/gpu/families.hpp"

namespace cornerturn::cuda {

namespace {

using LaunchFamily = void (*)(const plan::Plan&, const Buffers&, Stream);

template <class... Family>
LaunchFamily of_number(int number, plan::TypeList<Family...>) {
  static constexpr LaunchFamily launches[] = {&launch_family<Family>...};
  return launches[number];
}

}  // namespace

void execute(const plan::Plan& plan, const Buffers& buffers, Stream stream) {
  if (plan.normal.elements() == 0) return;
  of_number(plan.chosen.row->number, plan::gpu::Families())(plan, buffers, stream);
}

}  // namespace cornerturn::cuda
