#include "plan/gpu/dequantise.hpp"

#include <algorithm>
#include <bit>
#include <numeric>
#include <utility>

#include "core/divide.hpp"
#include "plan/gpu/block_lines.hpp"

namespace cornerturn::plan::gpu::dequantise {
namespace {

// Bytes that lines of blocks begin at multiples of: the kernel reads codes in these units.
std::int64_t unit_of(const Problem& normal) {
  return normal.blocks->rule.format == BlockFormat::q8_0 ? 2 : 8;
}

LineStack stack_of(const Problem& normal) {
  LineStack stack(BlockLines(normal, normal.blocks->first));
  // Where lines stay lines, as many of them in a matrix as there can be; those that share blocks.
  const bool more = stack.batch.extent > stack.line.extent && !stack.line.shares;
  if (!stack.columns && (more || stack.batch.shares)) std::swap(stack.line, stack.batch);
  return stack;
}

std::int64_t line_bytes(const Problem& normal, const LineStack& stack) {
  const BlockRow& row = normal.blocks->row();
  const std::int64_t units = row.along / row.values_per_unit();
  return ceil_div(stack.along.extent, std::int64_t{row.along}) * units * row.unit_bytes();
}

std::uint32_t log2_of(int power) {
  return static_cast<std::uint32_t>(std::countr_zero(static_cast<unsigned>(power)));
}

// An offset in the place of an address, until bind() adds the address.
const std::byte* as_address(std::int64_t offset) {
  // NOLINTNEXTLINE(performance-no-int-to-ptr): nothing is read through it
  return reinterpret_cast<const std::byte*>(static_cast<std::intptr_t>(offset));
}
const std::byte* moved_by(const std::byte* base, const std::byte* offset) {
  return base + reinterpret_cast<std::intptr_t>(offset);
}

}  // namespace

const char* Family::why_not(const Problem& normal, const DeviceInfo&) {
  const BlockRow& row = normal.blocks->row();
  if (!row.has_scales() && row.format != BlockFormat::q8_0) {
    return "blocks that hold their scales, other than q8_0";
  }
  if (normal.blocks->second) return "blocks along two modes are made, not read";
  const LineStack stack = stack_of(normal);
  if (const char* rule = stack.why_not(normal)) return rule;
  if (stack.batch.shares) return "the lines of blocks are not those of a matrix";
  if (row.scale == ScaleType::f32 &&
      (stack.along.scales % 4 != 0 || stack.line.scales % 4 != 0 || stack.batch.scales % 4 != 0)) {
    return "scales do not begin at multiples of 4 B";
  }
  if (stack.along.values != row.unit_bytes()) {
    return "the blocks of a line are not next to each other";
  }
  if (stack.line.values % unit_of(normal) != 0 || stack.batch.values % unit_of(normal) != 0) {
    return stack.q8 ? "lines of blocks do not begin at multiples of 2 B"
                    : "lines of blocks do not begin at multiples of 8 B";
  }
  return nullptr;
}

void Family::configure(const Problem& normal, const Alignment& start, const DeviceInfo&,
                       const Add<DequantiseConfig>& add) {
  const bool scales =
      !normal.blocks->row().has_scales() || start.scales % normal.blocks->row().scale_bytes() == 0;
  if (start.dst % 16 == 0 && start.src % unit_of(normal) == 0 && scales) add({});
}

Demand Family::demand(const DequantiseConfig& config, const Problem& normal, const Model& model,
                      const Costs& c) {
  const LineStack stack = stack_of(normal);
  const Launchable<Args> ready = prepare(config, normal);
  const auto values = static_cast<double>(normal.elements());
  Demand demand = demand_of_launch(ready, c.block, model);
  demand.instructions = values * (c.value + (stack.columns ? c.transposed : 0.0));
  demand.wavefronts = 2 * values / 128;  // codes go to shared memory and come from there
  kernels::dispatch(ready.args, [&]<class Kernel>() {
    // Blocks that follow each other continue rows of the destination.
    const std::int64_t row = stack.cols() * normal.dst_type.size();
    demand.dst_bytes = dst_moved(model, {static_cast<double>(row), std::gcd(stack.pitch(), 64L)});
    const std::int64_t line = line_bytes(normal, stack);
    const std::int64_t of_tile = std::min<std::int64_t>(line, Kernel::cells * Kernel::cell_bytes);
    const std::int64_t run = stack.columns ? of_tile : line;
    const std::int64_t granule = std::gcd(std::gcd(stack.line.values, run), 64L);
    demand.src_bytes = src_moved(model, {static_cast<double>(run), granule});
  });
  return demand;
}

std::string Family::describe(const DequantiseConfig& config, const Problem& normal) {
  const Launchable<Args> ready = prepare(config, normal);
  std::string text;
  kernels::dispatch(ready.args, [&]<class Kernel>() {
    text = std::to_string(Kernel::lines) + " lines x " + std::to_string(Kernel::length) + " values";
  });
  return text + (ready.args.transposed ? ", lines become columns" : ", lines stay rows");
}

Launchable<kernels::DequantiseArgs> Family::prepare(const DequantiseConfig&,
                                                    const Problem& normal) {
  const LineStack stack = stack_of(normal);
  const LineMode& line = stack.line;
  const LineMode& batch = stack.batch;
  kernels::DequantiseArgs args;
  args.dst_pitch = stack.pitch();
  args.dst_step = batch.plain;
  args.value_pitch = line.values;
  args.value_step = batch.values;
  const std::int64_t last_line = (line.extent - 1) * line.values;
  const std::int64_t last_matrix = (batch.extent - 1) * batch.values;
  const std::int64_t zero = 0;
  args.span.low = as_address(std::min(zero, last_line) + std::min(zero, last_matrix));
  args.span.high = as_address(std::max(zero, last_line) + std::max(zero, last_matrix) +
                              line_bytes(normal, stack));
  const BlockRow& row = normal.blocks->row();
  args.steps = {normal.blocks->first.order, row.scale_bytes(), line.scales, stack.along.scales};
  args.scale_step = batch.scales;
  args.scale = row.scale;
  args.along_bits = log2_of(row.along);
  args.across_bits = log2_of(row.across);
  args.matrices = static_cast<std::uint32_t>(batch.extent);
  args.lines = static_cast<std::uint32_t>(line.extent);
  args.length = static_cast<std::uint32_t>(stack.along.extent);
  args.kind = normal.dst_type.kind();
  args.element = row.element;
  args.transposed = stack.columns;
  Launch launch;
  kernels::dispatch(args, [&]<class Kernel>() {
    const auto down = static_cast<std::uint32_t>(ceil_div(args.lines, Kernel::lines));
    const auto along = static_cast<std::uint32_t>(ceil_div(args.length, Kernel::length));
    args.tiles_fast = FastDivide(args.transposed ? down : along);
    launch.grid = {down * along, args.matrices, 1};
    launch.block = {static_cast<unsigned>(Kernel::threads), 1, 1};
    launch.dynamic_shared = Kernel::shared_bytes;
  });
  return {args, launch};
}

void Family::bind(kernels::DequantiseArgs& args, const Problem& normal, const Buffers& buffers,
                  int) {
  args.dst = static_cast<std::byte*>(buffers.dst) + normal.dst_offset;
  args.values = static_cast<const std::byte*>(buffers.src) + normal.src_offset;
  args.span = {moved_by(args.values, args.span.low), moved_by(args.values, args.span.high)};
  args.scales = static_cast<const std::byte*>(buffers.blocks.scales);
  args.tensor = buffers.blocks.tensor_scale;
}

}  // namespace cornerturn::plan::gpu::dequantise
