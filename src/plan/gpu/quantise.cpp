#include "plan/gpu/quantise.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "core/divide.hpp"
#include "plan/gpu/block_lines.hpp"
#include "plan/gpu/listed.hpp"
#include "plan/gpu/quantise_tile.hpp"

namespace cornerturn::plan::gpu::quantise {
namespace {

using kernels::QuantiseQ8Args;
using kernels::QuantiseTileArgs;

bool is_q8(const Problem& normal) {
  return normal.blocks->rule.format == BlockFormat::q8_0;
}

// Bytes of a line of packed blocks of q8_0.
std::int64_t q8_line(std::int64_t values) {
  return values / block_size * q8_bytes;
}

LineStack q8_stack(const Problem& normal) {
  LineStack stack(BlockLines(normal, normal.blocks->first));
  // Lines that lie one after the other in the result, whatever lies nearer in the array.
  if (stack.others == 2 && stack.line.values != q8_line(stack.along.extent)) {
    std::swap(stack.line, stack.batch);
  }
  return stack;
}

const char* why_not_q8(const Problem& normal) {
  if (const char* rule = why_not_lines(normal)) return rule;
  if (normal.blocks->second) return "q8_0 along both modes";
  const LineStack stack = q8_stack(normal);
  if (const char* rule = stack.why_not(normal)) return rule;
  if (stack.rows() % block_size != 0 || stack.cols() % block_size != 0) {
    return "rows or columns are no multiples of 32";
  }
  if (stack.pitch() <= 0) return "rows follow each other backwards";
  if (stack.along.values != q8_bytes || stack.line.values != q8_line(stack.along.extent)) {
    return "the blocks of a matrix are not packed";
  }
  if (stack.batch.values % 2 != 0)
    return "blocks of the matrices begin at places that vectors do not";
  return nullptr;
}

QuantiseQ8Args q8_args(const Problem& normal) {
  const LineStack stack = q8_stack(normal);
  QuantiseQ8Args args;
  args.pitch = stack.pitch();
  args.src_step = stack.batch.plain;
  args.dst_step = stack.batch.values;
  args.matrices = static_cast<std::uint32_t>(stack.batch.extent);
  args.rows = static_cast<std::uint32_t>(stack.rows());
  args.cols = static_cast<std::uint32_t>(stack.cols());
  args.kind = normal.src_type.kind();
  args.transposed = stack.columns;
  return args;
}

// The kernel makes the results that have an address. This one stands for that of the result until
// bind() knows it.
std::byte* some_address() {
  static std::byte place{};
  return &place;
}

// The number of the list's mode behind all others; -2: there is none, which is no mode either.
int list_of(const Problem& normal) {
  return normal.lists != nullptr ? normal.rank() : -2;
}

QuantiseTileArgs tile_args(const Problem& normal) {
  const Problem all = with_list_last(normal);
  const TileStack stack(all);
  QuantiseTileArgs args = stack.args(all, some_address());
  if (normal.lists == nullptr) return args;
  args.from = from_of(normal);
  args.lists_rows = stack.rows.number == list_of(normal);
  return args;
}

// Lines of codes, or rows of values, as runs: the blocks that take the next piece of a line run at
// about the same time, so the L2 joins the pieces.
MovedRuns lines_of(std::int64_t bytes, std::int64_t pitch) {
  return {static_cast<double>(bytes), std::gcd(pitch, 64L)};
}

// Tiles of one result lose nothing at barriers. (0 would stand for what other kernels lose.)
constexpr double no_barriers = 1e-6;

// What the demand of either kernel follows from.
struct Moved {
  std::int64_t row_bytes = 0;  ///< of plain values
  std::int64_t pitch = 0;
  std::int64_t along_rows = 0;  ///< bytes of a line of codes; 0: not made
  std::int64_t along_cols = 0;
};

Moved moved_by(const QuantiseQ8Args& a) {
  Moved moved{std::int64_t{a.cols}, a.pitch, 0, 0};
  (a.transposed ? moved.along_cols : moved.along_rows) = q8_line(a.transposed ? a.rows : a.cols);
  return moved;
}
Moved moved_by(const QuantiseTileArgs& a) {
  const auto line = [&](const kernels::TileSide& side) -> std::int64_t {
    return side.values == nullptr ? 0 : std::int64_t{side.length} / (a.e2m1 ? 2 : 1);
  };
  return {std::int64_t{a.cols}, a.pitch, line(a.along_rows), line(a.along_cols)};
}

Moved moved_by(const kernels::QuantiseArgs& args) {
  return std::visit([](const auto& form) { return moved_by(form); }, args.form);
}

// How many tiles there are, and in which order.
template <class Kernel, class Form>
Dim3 grid_of(Form& args) {
  const auto down = static_cast<std::uint32_t>(ceil_div(args.rows, Kernel::tile_rows));
  const auto across = static_cast<std::uint32_t>(ceil_div(args.cols, Kernel::tile_cols));
  if constexpr (requires { args.tiles_down; }) {
    args.tiles_down = FastDivide(down);
  } else {
    args.tiles_fast = FastDivide(std::max(1U, Kernel::goes_down ? down : across));
  }
  return {down * across, args.matrices, 1};
}

}  // namespace

const char* Family::why_not(const Problem& normal, const DeviceInfo&) {
  if (is_q8(normal)) {
    return normal.lists != nullptr ? "blocks of q8_0 by a list" : why_not_q8(normal);
  }
  if (normal.lists != nullptr) {
    if (const char* rule = why_no_list(normal)) return rule;
  }
  const Problem all = with_list_last(normal);
  if (const char* rule = TileStack(all).why_not(all, list_of(normal))) return rule;
  bool taken = true;
  kernels::dispatch(tile_args(normal), [&]<class Kernel>() {
    taken = normal.lists == nullptr || Kernel::takes_lists;
  });
  if (taken) return nullptr;
  return normal.blocks->row().element == BlockElement::e2m1
             ? "4-bit floats by a list"
             : "f32 along rows and columns at once, by a list";
}

void Family::configure(const Problem& normal, const Alignment& start, const DeviceInfo&,
                       const Add<QuantiseConfig>& add) {
  const bool q8 = is_q8(normal);
  const Launchable<Args> ready = prepare({}, normal);
  const auto fits = [&](std::int64_t values, std::int64_t scales, const BlockLayout& layout) {
    if (q8) return values % 2 == 0;
    const auto& tile = std::get<QuantiseTileArgs>(ready.args.form);
    const bool words = (along_rows(normal, layout) ? tile.along_rows : tile.along_cols).words;
    return values % 16 == 0 && (!words || scales % 4 == 0);
  };
  const Blocks& blocks = *normal.blocks;
  if (start.src % 16 != 0 || !fits(start.dst, start.scales, blocks.first)) return;
  if (blocks.second && !fits(start.second, start.second_scales, *blocks.second)) return;
  add({});
}

Demand Family::demand(const QuantiseConfig& config, const Problem& normal, const Model& model,
                      const Costs& c) {
  const Launchable<Args> ready = prepare(config, normal);
  const Moved moved = moved_by(ready.args);
  Model of_all = model;
  if (normal.lists != nullptr) of_all.least = least_traffic(with_list_last(normal));
  const double results = moved.along_rows > 0 && moved.along_cols > 0 ? 2 : 1;
  const double codes = static_cast<double>(normal.elements()) * results;
  Demand demand = demand_of_launch(ready, c.block, of_all);
  demand.instructions = codes * c.value;
  // They go to shared memory and come from there.
  demand.wavefronts = 2 * codes / normal.blocks->row().values_per_unit() / 128;
  demand.src_bytes =
      src_moved(of_all, lines_of(moved.row_bytes * normal.src_type.size(), moved.pitch));
  const bool tile = !is_q8(normal);
  if (tile && results == 1) demand.barriers = no_barriers;
  demand.dst_bytes = 0;
  for (const std::int64_t line : {moved.along_rows, moved.along_cols}) {
    if (line > 0) demand.dst_bytes += dst_moved(of_all, lines_of(line, line)) / results;
  }
  return demand;
}

std::string Family::describe(const QuantiseConfig& config, const Problem& normal) {
  const Launchable<Args> ready = prepare(config, normal);
  const Moved moved = moved_by(ready.args);
  const bool rows = moved.along_rows > 0, cols = moved.along_cols > 0;
  std::string text;
  kernels::dispatch(ready.args, [&]<class Kernel>() {
    text = std::to_string(Kernel::tile_rows) + " x " + std::to_string(Kernel::tile_cols) + " tiles";
  });
  text += std::string(", blocks along ") + (rows && cols ? "rows and columns"
                                            : rows       ? "rows"
                                                         : "columns");
  if (normal.lists == nullptr) return text;
  const bool of_rows = std::get<QuantiseTileArgs>(ready.args.form).lists_rows;
  return text + (of_rows ? ", rows by a list" : ", matrices by a list");
}

Launchable<kernels::QuantiseArgs> Family::prepare(const QuantiseConfig&, const Problem& normal) {
  Args args;
  if (is_q8(normal)) {
    args.form = q8_args(normal);
  } else {
    args.form = tile_args(normal);
  }
  Launch launch;
  kernels::dispatch(args, [&]<class Kernel>() {
    launch.grid = grid_of<Kernel>(std::get<typename Kernel::Args>(args.form));
    launch.block = {static_cast<unsigned>(Kernel::threads), 1, 1};
    launch.dynamic_shared = Kernel::shared_bytes;
  });
  return {args, launch};
}

void Family::bind(kernels::QuantiseArgs& args, const Problem& normal, const Buffers& buffers, int) {
  const auto* const src = static_cast<const std::byte*>(buffers.src) + normal.src_offset;
  std::byte* const dst = static_cast<std::byte*>(buffers.dst) + normal.dst_offset;
  if (auto* const q8 = std::get_if<QuantiseQ8Args>(&args.form)) {
    q8->src = src;
    q8->dst = dst;
    return;
  }
  auto& tile = std::get<QuantiseTileArgs>(args.form);
  tile.src = src;
  tile.tensor = buffers.blocks.tensor_scale;
  tile.from.table = buffers.lists.src;
  const bool rows = along_rows(normal, normal.blocks->first);
  const auto set = [](kernels::TileSide& side, void* values, void* scales) {
    side.values = static_cast<std::byte*>(values);
    side.scales = static_cast<std::byte*>(scales);
  };
  set(rows ? tile.along_rows : tile.along_cols, dst, buffers.blocks.scales);
  if (!normal.blocks->second) return;
  set(rows ? tile.along_cols : tile.along_rows, buffers.blocks.second,
      buffers.blocks.second_scales);
}

}  // namespace cornerturn::plan::gpu::quantise
