#include "plan/gpu/quantise.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "core/divide.hpp"
#include "plan/gpu/block_lines.hpp"

namespace cornerturn::plan::gpu::quantise {
namespace {

// Bytes of a line of packed codes.
std::int64_t code_bytes(bool q8, std::int64_t values) {
  return q8 ? values / block_size * q8_bytes : values;
}

LineStack stack_of(const Problem& normal, const BlockLayout& layout) {
  LineStack stack(BlockLines(normal, layout));
  // Lines that lie one after the other in the result, whatever lies nearer in the array.
  if (stack.others == 2 && stack.line.values != code_bytes(stack.q8, stack.along.extent)) {
    std::swap(stack.line, stack.batch);
  }
  return stack;
}

const char* why_not_packed(const LineStack& s) {
  const std::int64_t length = s.along.extent;
  const bool packed_line = s.along.values == (s.q8 ? q8_bytes : 1) && (s.q8 || s.along.scales == 1);
  const bool packed_lines =
      s.line.values == code_bytes(s.q8, length) && (s.q8 || s.line.scales == length / block_size);
  if (!packed_line || !packed_lines) return "the blocks of a matrix are not packed";
  if (s.batch.values % (s.q8 ? 2 : 16) != 0 || s.batch.scales % 4 != 0) {
    return "blocks of the matrices begin at places that vectors do not";
  }
  return nullptr;
}

// Why the kernel does not make one result.
const char* why_not_made(const Problem& normal, const LineStack& stack) {
  if (const char* rule = stack.why_not(normal)) return rule;
  if (stack.rows() % block_size != 0 || stack.cols() % block_size != 0) {
    return "rows or columns are no multiples of 32";
  }
  if (stack.pitch() <= 0) return "rows follow each other backwards";
  return why_not_packed(stack);
}

// Whether both results are made of the same rows, one along them and one along their columns.
bool share_reading(const LineStack& a, const LineStack& b) {
  return a.columns != b.columns && a.rows() == b.rows() && a.cols() == b.cols() &&
         a.pitch() == b.pitch() && a.batch.plain == b.batch.plain &&
         a.batch.extent == b.batch.extent;
}

// Whether the first result's blocks run along rows, of a problem that the kernel takes: then its
// values are next to each other. bind() may not allocate.
bool first_along_rows(const Problem& normal) {
  return normal.modes[normal.blocks->first.axis].src_stride == normal.src_type.size();
}

// The kernel makes the results that have an address. This one stands for that of the result until
// bind() knows it.
std::byte* some_address() {
  static std::byte place{};
  return &place;
}

// Lines of codes, or rows of values, as runs: the blocks that take the next piece of a line run at
// about the same time, so the L2 joins the pieces.
MovedRuns lines_of(std::int64_t bytes, std::int64_t pitch) {
  return {static_cast<double>(bytes), std::gcd(pitch, 64L)};
}

}  // namespace

const char* Family::why_not(const Problem& normal, const DeviceInfo&) {
  if (const char* rule = why_not_lines(normal)) return rule;
  const Blocks& blocks = *normal.blocks;
  const LineStack first = stack_of(normal, blocks.first);
  if (const char* rule = why_not_made(normal, first)) return rule;
  if (!blocks.second) return nullptr;
  if (first.q8) return "q8_0 along both modes";
  const LineStack second = stack_of(normal, *blocks.second);
  if (const char* rule = why_not_made(normal, second)) return rule;
  return share_reading(first, second) ? nullptr : "the two results are not those of one matrix";
}

void Family::configure(const Problem& normal, const Alignment& start, const DeviceInfo&,
                       const Add<QuantiseConfig>& add) {
  const bool q8 = normal.blocks->rule.format == BlockFormat::q8_0;
  const auto fits = [q8](std::int64_t values, std::int64_t scales) {
    return values % (q8 ? 2 : 16) == 0 && (q8 || scales % 4 == 0);
  };
  if (start.src % 16 != 0 || !fits(start.dst, start.scales)) return;
  if (normal.blocks->second && !fits(start.second, start.second_scales)) return;
  add({});
}

Demand Family::demand(const QuantiseConfig& config, const Problem& normal, const Model& model,
                      const Costs& c) {
  const Launchable<Args> ready = prepare(config, normal);
  const Args& args = ready.args;
  const bool q8 = args.format == BlockFormat::q8_0;
  const bool rows = args.along_rows.values != nullptr, cols = args.along_cols.values != nullptr;
  const double results = rows && cols ? 2 : 1;
  const double codes = static_cast<double>(normal.elements()) * results;
  Demand demand = demand_of_launch(ready, c.block, model);
  demand.instructions = codes * c.value;
  demand.wavefronts = 2 * codes / 128;  // they go to shared memory and come from there
  demand.src_bytes =
      src_moved(model, lines_of(std::int64_t{args.cols} * normal.src_type.size(), args.pitch));
  const auto written = [&](std::int64_t length) {
    const std::int64_t line = code_bytes(q8, length);
    return dst_moved(model, lines_of(line, line)) / results;
  };
  demand.dst_bytes = (rows ? written(args.cols) : 0) + (cols ? written(args.rows) : 0);
  return demand;
}

std::string Family::describe(const QuantiseConfig& config, const Problem& normal) {
  const Launchable<Args> ready = prepare(config, normal);
  const bool rows = ready.args.along_rows.values != nullptr;
  const bool cols = ready.args.along_cols.values != nullptr;
  std::string text;
  kernels::dispatch(ready.args, [&]<class Kernel>() {
    text = std::to_string(Kernel::tile_rows) + " x " + std::to_string(Kernel::tile_cols) + " tiles";
  });
  return text + ", blocks along " + (rows && cols ? "rows and columns" : rows ? "rows" : "columns");
}

Launchable<kernels::QuantiseArgs> Family::prepare(const QuantiseConfig&, const Problem& normal) {
  const Blocks& blocks = *normal.blocks;
  const LineStack stack = stack_of(normal, blocks.first);
  kernels::QuantiseArgs args;
  args.pitch = stack.pitch();
  args.src_step = stack.batch.plain;
  args.matrices = static_cast<std::uint32_t>(stack.batch.extent);
  args.rows = static_cast<std::uint32_t>(stack.rows());
  args.cols = static_cast<std::uint32_t>(stack.cols());
  args.kind = normal.src_type.kind();
  args.format = blocks.rule.format;
  args.rule = blocks.rule.scale;
  const auto set = [&](const LineStack& s) {
    kernels::QuantiseSide& side = s.columns ? args.along_cols : args.along_rows;
    side.values = some_address();
    side.scales = some_address();
    side.value_step = s.batch.values;
    side.scale_step = s.batch.scales;
  };
  set(stack);
  if (blocks.second) set(stack_of(normal, *blocks.second));
  Launch launch;
  kernels::dispatch(args, [&]<class Kernel>() {
    const auto down = static_cast<std::uint32_t>(ceil_div(args.rows, Kernel::tile_rows));
    const auto across = static_cast<std::uint32_t>(ceil_div(args.cols, Kernel::tile_cols));
    args.tiles_down = FastDivide(down);
    launch.grid = {down * across, args.matrices, 1};
    launch.block = {static_cast<unsigned>(Kernel::threads), 1, 1};
    launch.dynamic_shared = Kernel::shared_bytes;
  });
  return {args, launch};
}

void Family::bind(kernels::QuantiseArgs& args, const Problem& normal, const Buffers& buffers, int) {
  args.src = static_cast<const std::byte*>(buffers.src) + normal.src_offset;
  const bool rows = first_along_rows(normal);
  const auto set = [](kernels::QuantiseSide& side, void* values, void* scales) {
    side.values = static_cast<std::byte*>(values);
    side.scales = static_cast<std::byte*>(scales);
  };
  set(rows ? args.along_rows : args.along_cols,
      static_cast<std::byte*>(buffers.dst) + normal.dst_offset, buffers.blocks.scales);
  if (!normal.blocks->second) return;
  set(rows ? args.along_cols : args.along_rows, buffers.blocks.second,
      buffers.blocks.second_scales);
}

}  // namespace cornerturn::plan::gpu::quantise
