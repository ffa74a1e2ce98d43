#include "plan/gpu/amax.hpp"

#include <algorithm>
#include <string>

#include "core/divide.hpp"
#include "core/memory_order.hpp"
#include "cornerturn/error.hpp"

namespace cornerturn::plan::gpu {
namespace {

using kernels::AmaxArgs;

constexpr std::int64_t least_row_bytes = 64;

// Of a row that begins `phase` bytes past a multiple of 16.
std::int64_t vectors_in_row(std::int64_t row_bytes, std::int64_t phase) {
  return ceil_div(phase + row_bytes, std::int64_t{16});
}

// The most that a row begins past a multiple of 16.
std::int64_t worst_phase(const MemoryOrder& order, std::int64_t element_bytes) {
  for (std::size_t i = 1; i < order.axes.size(); ++i) {
    if (order.axes[i].stride % 16 != 0) return 16 - element_bytes;
  }
  return kernels::phase_of(order.first);
}

}  // namespace

AmaxWork amax_work(const std::byte* data, ElementType type, const Extents& shape,
                   const Extents& strides) {
  const MemoryOrder order = memory_order(data, shape, strides);
  if (order.axes.size() > kernels::max_axes) {
    throw Error(Status::unsupported,
                "src has " + std::to_string(order.axes.size()) +
                    " axes that are not one after the other in memory: on a GPU amax takes " +
                    std::to_string(kernels::max_axes));
  }
  AmaxWork work;
  AmaxArgs& args = work.args;
  args.src = order.first;
  args.element_bytes = type.size();
  args.rule = values::with_kind(type.kind(),
                                []<class T>(values::Type<T>) { return values::magnitude_rule<T>; });
  const std::int64_t size = type.size();
  const bool rows = !order.axes.empty() && order.axes[0].stride == size &&
                    order.axes[0].extent * size >= least_row_bytes;
  args.pieces = 1;
  if (rows) {
    args.row_bytes = order.axes[0].extent * size;
    args.pieces = vectors_in_row(args.row_bytes, worst_phase(order, size));
    args.row_vectors = FastDivide64(static_cast<std::uint64_t>(args.pieces));
  }
  for (std::size_t i = rows ? 1 : 0; i < order.axes.size(); ++i) {
    const MemoryAxis& axis = order.axes[i];
    args.pieces *= axis.extent;
    args.axis[args.rank++] = {FastDivide64(static_cast<std::uint64_t>(axis.extent)), axis.stride};
  }
  kernels::dispatch(args, [&]<class Kernel>() {
    const std::int64_t of_block = Kernel::threads * Kernel::of_thread;
    const auto blocks = std::min(ceil_div(args.pieces, of_block), std::int64_t{most_amax_blocks});
    work.launch = {{static_cast<unsigned>(blocks), 1, 1}, {Kernel::threads, 1, 1}, 0};
  });
  return work;
}

}  // namespace cornerturn::plan::gpu
