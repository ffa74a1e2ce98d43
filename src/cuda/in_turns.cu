#include "cuda/in_turns.hpp"

#include <limits>
#include <stdexcept>

#include "cuda/launch.cuh"
#include "kernels/turns_context.cuh"
#include "plan/gpu/gather.hpp"
#include "plan/gpu/tile.hpp"

namespace cornerturn::cuda {
namespace {

// Those that move elements unread.
template <class Kernel>
inline constexpr bool can_take_turns = false;
template <class T, int shape, bool one_mode>
inline constexpr bool can_take_turns<kernels::Tile<kernels::Move<T>, shape, one_mode>> = true;
template <class T, class Form, int of_thread>
inline constexpr bool can_take_turns<kernels::Gather<T, Form, of_thread>> = true;
template <class T>
inline constexpr bool can_take_turns<kernels::GatherUnits<T>> = true;

template <class Kernel, class Args>
__global__ void __launch_bounds__(Kernel::threads, blocks_of_sm<Kernel>)
    kernel_in_turns(const __grid_constant__ Args args, const __grid_constant__ Turns turns) {
  TurnsContext ctx(turns);
  Kernel::run(ctx, args);
}

void order_tiles(Turns& turns, const kernels::TileArgs& args, const Launch& one) {
  if (args.matrix.order.last_band > 0 || args.rest.rank == 0) return;
  if (static_cast<std::int64_t>(args.rest.dst_step) >= args.matrix.col_step) return;
  turns.rows = args.matrix.order.column.divisor;
  turns.columns = args.tiles.divisor / turns.rows;
  turns.steps = one.grid.x / (turns.rows * turns.columns);
}
void order_tiles(Turns&, const kernels::GatherArgs&, const Launch&) {}

template <class Family>
void launch_in_turns(const plan::Plan& plan, const Buffers& first, Turns turns, Stream stream) {
  plan::gpu::for_each_launch<Family>(plan, first, [&](const auto& all, const Launch& one) {
    order_tiles(turns, all, one);
    dispatch(all, [&]<class Kernel>() {
      if constexpr (can_take_turns<Kernel>) {
        const auto& args = plan::gpu::args_for<Kernel>(all);
        using Args = std::remove_cvref_t<decltype(args)>;
        constexpr auto* kernel = kernel_in_turns<Kernel, Args>;
        allow_shared<std::pair<Kernel, Turns>>(reinterpret_cast<const void*>(kernel),
                                               one.dynamic_shared);
        void* parameters[] = {const_cast<Args*>(&args), &turns};
        launch_kernel(reinterpret_cast<const void*>(kernel),
                      {{one.grid.x * static_cast<unsigned>(turns.count), 1, 1},
                       one.block,
                       one.dynamic_shared},
                      parameters, stream);
      } else {
        throw std::logic_error("this kernel cannot take turns");
      }
    });
  });
}

bool is_of(const plan::Plan& plan, std::string_view family) {
  return plan.chosen.row->name == family;
}

}  // namespace

bool can_run_in_turns(const plan::Plan& plan, int count) {
  if (plan.normal.operation() != Operation::move || count > Turns::most) return false;
  if (!is_of(plan, plan::gpu::tile::Family::name) &&
      !is_of(plan, plan::gpu::gather::Family::name)) {
    return false;
  }
  constexpr auto most_blocks = static_cast<std::uint64_t>(std::numeric_limits<std::int32_t>::max());
  const Dim3& grid = plan.ready.launch.grid;
  return plan.ready.then == nullptr && grid.y == 1 && grid.z == 1 &&
         grid.x * static_cast<std::uint64_t>(count) <= most_blocks;
}

void execute_in_turns(const plan::Plan& plan, const Buffers& first, const Turns& turns,
                      Stream stream) {
  if (is_of(plan, plan::gpu::tile::Family::name)) {
    launch_in_turns<plan::gpu::tile::Family>(plan, first, turns, stream);
  } else {
    launch_in_turns<plan::gpu::gather::Family>(plan, first, turns, stream);
  }
}

}  // namespace cornerturn::cuda
