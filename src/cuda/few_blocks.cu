#include "cuda/few_blocks.hpp"

#include <algorithm>
#include <stdexcept>

#include "cuda/launch.cuh"
#include "plan/link/few_blocks.hpp"

namespace cornerturn::cuda {
namespace {

// The context of a thread whose block stands for one block after the other of a larger launch.
class FewBlocksContext : public GpuContext {
 public:
  CT_DEVICE explicit FewBlocksContext(unsigned all) : all_(all), block_(blockIdx.x) {}

  CT_DEVICE Dim3 block_id() const { return {block_, 0, 0}; }

  CT_DEVICE bool has_work() const { return block_ < all_; }
  CT_DEVICE void go_on() {
    __syncthreads();  // the next one writes to the same shared memory
    block_ += gridDim.x;
  }

 private:
  unsigned all_;
  unsigned block_;
};

template <class Kernel, class Args>
__global__ void __launch_bounds__(Kernel::threads, blocks_of_sm<Kernel>)
    kernel_in_few_blocks(const __grid_constant__ Args args, unsigned all) {
  for (FewBlocksContext ctx(all); ctx.has_work(); ctx.go_on()) Kernel::run(ctx, args);
}

template <class Family>
void launch_in_few_blocks(const plan::Plan& plan, const Buffers& buffers, int blocks,
                          Stream stream) {
  plan::gpu::for_each_launch<Family>(plan, buffers, [&](const auto& all, const Launch& one) {
    dispatch(all, [&]<class Kernel>() {
      const auto& args = plan::gpu::args_for<Kernel>(all);
      using Args = std::remove_cvref_t<decltype(args)>;
      const auto* kernel = reinterpret_cast<const void*>(kernel_in_few_blocks<Kernel, Args>);
      allow_shared<std::pair<FewBlocksContext, std::pair<Kernel, Args>>>(kernel,
                                                                         one.dynamic_shared);
      unsigned grid = one.grid.x;
      void* parameters[] = {const_cast<Args*>(&args), &grid};
      launch_kernel(
          kernel,
          {{std::min(grid, static_cast<unsigned>(blocks)), 1, 1}, one.block, one.dynamic_shared},
          parameters, stream);
    });
  });
}

}  // namespace

void execute_in_few_blocks(const plan::Plan& plan, const Buffers& buffers, int blocks,
                           Stream stream) {
  const bool found = [&]<class... Families>(plan::TypeList<Families...>) {
    return ((plan.kernel() == Families::name &&
             (launch_in_few_blocks<Families>(plan, buffers, blocks, stream), true)) ||
            ...);
  }(plan::link::FewBlocksFamilies{});
  if (!found) throw std::logic_error("this kernel does not run in few blocks");
}

}  // namespace cornerturn::cuda
