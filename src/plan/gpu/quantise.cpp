#include "plan/gpu/quantise.hpp"

#include <algorithm>
#include <cstdlib>
#include <optional>

#include "core/divide.hpp"

namespace cornerturn::plan::gpu {
namespace {

using kernels::BlocksArgs;
using kernels::DequantiseArgs;
using kernels::QuantiseArgs;
using values::block_size;
using values::BlockFormat;

// A mode other than that of the blocks.
struct LineMode {
  std::int64_t extent;
  std::int64_t plain;  // strides in bytes
  std::int64_t values;
  std::int64_t scales;

  bool is_outside(const LineMode& inner) const {
    return plain == inner.plain * inner.extent && values == inner.values * inner.extent &&
           scales == inner.scales * inner.extent;
  }
};

// The array as lines of values: what both kernels are made from.
struct Lines {
  Lines(const PlainArray& plain, const BlockArrays& blocks, BlockFormat format) {
    const auto axis = static_cast<std::size_t>(blocks.axis);
    const bool has_scales = format != BlockFormat::q8_0;
    const auto scale_stride = [&](std::size_t i) {
      return has_scales ? blocks.scale_strides[i] : 0;
    };
    length = plain.shape[axis];
    along = {length, plain.strides[axis], blocks.value_strides[axis], scale_stride(axis)};
    for (std::size_t i = 0; i < plain.shape.size(); ++i) {
      if (i == axis || plain.shape[i] == 1) continue;
      modes.push_back({plain.shape[i], plain.strides[i], blocks.value_strides[i], scale_stride(i)});
    }
    // The fastest of the array first where lanes follow it, else that of the blocks.
    const auto by = [&](std::int64_t LineMode::*stride) {
      std::sort(modes.begin(), modes.end(), [stride](const LineMode& a, const LineMode& b) {
        return std::abs(a.*stride) < std::abs(b.*stride);
      });
    };
    by(&LineMode::values);
    values_across =
        has_scales && !modes.empty() && std::abs(modes[0].values) < std::abs(along.values);
    by(&LineMode::plain);
    plain_across = !modes.empty() && std::abs(modes[0].plain) < std::abs(along.plain);
    if (!plain_across) by(&LineMode::values);
    for (std::size_t i = 0; i + 1 < modes.size();) {
      if (modes[i + 1].is_outside(modes[i])) {
        modes[i].extent *= modes[i + 1].extent;
        modes.erase(modes.begin() + static_cast<std::ptrdiff_t>(i) + 1);
      } else {
        ++i;
      }
    }
  }

  // Of few long lines each block becomes a line of its own: there is a lane for every line.
  void split_few(bool q8) {
    std::int64_t count = 1;
    for (const LineMode& mode : modes) count *= mode.extent;
    if (count >= block_size || length <= block_size || length % block_size != 0) return;
    const LineMode blocks{length / block_size, along.plain * block_size,
                          q8 ? along.values : along.values * block_size, along.scales};
    modes.insert(plain_across ? modes.end() : modes.begin(), blocks);
    length = block_size;
  }

  std::int64_t length;
  LineMode along;  // a step from one value to the next
  std::vector<LineMode> modes;
  bool plain_across;
  bool values_across;
};

std::int64_t alignment_of(const void* pointer) {
  const auto address = reinterpret_cast<std::uintptr_t>(pointer);
  return static_cast<std::int64_t>(address & -address);
}

// More than kernels of tiles can count, of 64 x 64 elements at least.
bool has_too_many_tiles(std::int64_t length, std::int64_t lines) {
  constexpr std::int64_t most = std::int64_t{1} << 31, side = 64;
  return length >= most || lines >= most || ceil_div(length, side) * ceil_div(lines, side) >= most;
}

// quantise's arguments, for one of its two sides; nothing where it does not take the array.
std::optional<QuantiseArgs> matrix_args(const PlainArray& plain, const BlockArrays& blocks,
                                        const BlockRule& rule) {
  const Kind kind = plain.type.kind();
  if (kind != Kind::f32 && kind != Kind::f16 && kind != Kind::bf16) return std::nullopt;
  const Lines lines(plain, blocks, rule.format);
  if (lines.modes.empty() || lines.modes.size() > 2) return std::nullopt;
  const bool q8 = rule.format == BlockFormat::q8_0;
  const std::int64_t count = lines.length / block_size;
  const std::int64_t size = plain.type.size();
  const bool down = lines.plain_across;  // blocks run along the matrix's columns
  LineMode line = lines.modes[0];
  LineMode batch{1, 0, 0, 0};
  if (lines.modes.size() == 2) {
    batch = lines.modes[1];
    // Lines one after the other, whatever lies nearer in the array.
    if (line.values != (q8 ? 34 * count : lines.length)) std::swap(line, batch);
  }
  const std::int64_t pitch = down ? lines.along.plain : line.plain;
  const auto aligned = [](std::int64_t offset, std::int64_t unit) { return offset % unit == 0; };
  const std::int64_t value_unit = q8 ? 2 : 16;
  const bool packed = q8 ? lines.along.values == 34 && line.values == 34 * count
                         : lines.along.values == 1 && line.values == lines.length &&
                               lines.along.scales == 1 && line.scales == count;
  const bool fits = (down ? line.plain : lines.along.plain) == size && pitch > 0 &&
                    aligned(pitch, 16) && aligned(batch.plain, 16) &&
                    aligned(alignment_of(plain.data), 16) && packed &&
                    aligned(alignment_of(blocks.values), value_unit) &&
                    aligned(batch.values, value_unit) && aligned(line.extent, block_size) &&
                    aligned(lines.length, block_size) && batch.extent <= 65535 &&
                    (q8 || (aligned(alignment_of(blocks.scales), 4) && aligned(batch.scales, 4)));
  if (!fits || has_too_many_tiles(lines.length, line.extent)) return std::nullopt;
  QuantiseArgs args;
  args.src = plain.data;
  args.pitch = pitch;
  args.src_step = batch.plain;
  args.matrices = static_cast<std::uint32_t>(batch.extent);
  args.rows = static_cast<std::uint32_t>(down ? lines.length : line.extent);
  args.cols = static_cast<std::uint32_t>(down ? line.extent : lines.length);
  args.kind = kind;
  args.format = rule.format;
  args.rule = rule.scale;
  (down ? args.along_cols : args.along_rows) = {blocks.values, blocks.scales, batch.values,
                                                batch.scales};
  return args;
}

// dequantise's arguments; nothing where it does not take the array.
std::optional<DequantiseArgs> dequantise_args(const PlainArray& plain, const BlockArrays& blocks,
                                              BlockFormat format) {
  const Kind kind = plain.type.kind();
  if (kind != Kind::f32 && kind != Kind::f16 && kind != Kind::bf16) return std::nullopt;
  const Lines lines(plain, blocks, format);
  if (lines.modes.size() > 2) return std::nullopt;
  const bool q8 = format == BlockFormat::q8_0;
  const std::int64_t size = plain.type.size();
  const bool turned = lines.plain_across;
  LineMode line{1, 0, 0, 0};
  LineMode batch = line;
  if (!lines.modes.empty()) line = lines.modes[0];
  if (lines.modes.size() == 2) batch = lines.modes[1];
  // Where lines stay lines, as many of them in a matrix as there can be.
  if (!turned && batch.extent > line.extent) std::swap(line, batch);
  const std::int64_t pitch = turned ? lines.along.plain : line.plain;
  const std::int64_t count = ceil_div(lines.length, std::int64_t{block_size});
  const std::int64_t unit = q8 ? 2 : 8;
  const auto aligned = [](std::int64_t offset, std::int64_t to) { return offset % to == 0; };
  const bool fits = (turned ? line.plain : lines.along.plain) == size && aligned(pitch, 16) &&
                    aligned(batch.plain, 16) && aligned(alignment_of(plain.data), 16) &&
                    lines.along.values == (q8 ? 34 : 1) && aligned(line.values, unit) &&
                    aligned(batch.values, unit) && aligned(alignment_of(blocks.values), unit) &&
                    batch.extent <= 65535;
  if (!fits || has_too_many_tiles(lines.length, line.extent)) return std::nullopt;
  DequantiseArgs args;
  args.dst = plain.data;
  args.dst_pitch = pitch;
  args.dst_step = batch.plain;
  args.values = blocks.values;
  args.value_pitch = line.values;
  args.value_step = batch.values;
  const std::int64_t last_line = (line.extent - 1) * line.values;
  const std::int64_t last_matrix = (batch.extent - 1) * batch.values;
  const std::int64_t zero = 0;
  args.span.low = blocks.values + std::min(zero, last_line) + std::min(zero, last_matrix);
  args.span.high = blocks.values + std::max(zero, last_line) + std::max(zero, last_matrix) +
                   count * (q8 ? 34 : block_size);
  args.scales = blocks.scales;
  args.scale_along = lines.along.scales;
  args.scale_pitch = line.scales;
  args.scale_step = batch.scales;
  args.matrices = static_cast<std::uint32_t>(batch.extent);
  args.lines = static_cast<std::uint32_t>(line.extent);
  args.length = static_cast<std::uint32_t>(lines.length);
  args.kind = kind;
  args.format = format;
  args.turned = turned;
  return args;
}

// log2 of the blocks of a line that a tile has: as many as leave few without a line.
int along_bits(std::int64_t blocks) {
  for (int bits = 3; bits > 0; --bits) {
    const std::int64_t along = std::int64_t{1} << bits;
    if (ceil_div(blocks, along) * along * 4 <= blocks * 5) return bits;
  }
  return 0;
}

// The bytes of codes that a lane moves at once along a line.
int code_unit(const Lines& lines, const BlockArrays& blocks, bool q8, int bits) {
  std::int64_t together = alignment_of(blocks.values);
  for (const LineMode& mode : lines.modes) together |= mode.values & -mode.values;
  together &= -together;
  if (!q8) return lines.along.values == 1 && together >= 4 ? 4 : 1;
  const bool even = bits > 0 && ceil_div(lines.length, std::int64_t{block_size}) % 2 == 0;
  if (lines.along.values == 34 && even && together >= 4) return 4;
  return lines.along.values % 2 == 0 && together >= 2 ? 2 : 1;
}

BlocksWork any_work(const PlainArray& plain, const BlockArrays& blocks, const BlockRule& rule,
                    bool back) {
  Lines lines(plain, blocks, rule.format);
  lines.split_few(rule.format == BlockFormat::q8_0);
  const std::int64_t of_line = ceil_div(lines.length, std::int64_t{block_size});
  BlocksArgs args;
  args.plain = plain.data;
  args.values = blocks.values;
  args.scales = blocks.scales;
  args.kind = plain.type.kind();
  args.plain_bytes = plain.type.size();
  args.format = rule.format;
  args.rule = rule.scale;
  args.back = back;
  args.plain_across = lines.plain_across;
  args.values_across = lines.values_across;
  args.along_bits = along_bits(of_line);
  args.unit = code_unit(lines, blocks, args.q8(), args.along_bits);
  args.length = lines.length;
  args.plain_step = lines.along.plain;
  args.value_step = lines.along.values;
  args.scale_step = lines.along.scales;
  args.lines = 1;
  for (const LineMode& mode : lines.modes) {
    args.lines *= mode.extent;
    args.axis[args.rank++] = {FastDivide64(static_cast<std::uint64_t>(mode.extent)), mode.plain,
                              mode.values, mode.scales};
  }
  Launch launch;
  kernels::dispatch(args, [&]<class Kernel>() {
    const std::int64_t across =
        ceil_div(args.lines, std::int64_t{Kernel::threads} >> args.along_bits);
    const std::int64_t along = ceil_div(of_line, std::int64_t{1} << args.along_bits);
    args.tiles = across * along;
    // Along the shorter way first: then tiles beside each other, both ways, run soon after another.
    args.tiles_across = across < along;
    args.tiles_fast = FastDivide64(static_cast<std::uint64_t>(args.tiles_across ? across : along));
    const std::int64_t grid = std::min(args.tiles, (std::int64_t{1} << 31) - 1);
    launch.grid = {static_cast<unsigned>(grid), 1, 1};
    launch.block = {static_cast<unsigned>(Kernel::threads), 1, 1};
    launch.dynamic_shared = Kernel::shared_bytes(args);
  });
  return {args, launch};
}

bool is_empty(const PlainArray& plain) {
  return std::find(plain.shape.begin(), plain.shape.end(), 0) != plain.shape.end();
}

}  // namespace

const char* BlocksWork::kernel() const {
  if (std::holds_alternative<QuantiseArgs>(args)) return "quantise";
  return std::holds_alternative<DequantiseArgs>(args) ? "dequantise" : "blocks";
}

std::vector<BlocksWork> quantise_works(const PlainArray& plain, const BlockArrays& blocks,
                                       const BlockArrays* turned, const BlockRule& rule) {
  std::vector<BlocksWork> works;
  if (is_empty(plain)) return works;
  std::optional<QuantiseArgs> first = matrix_args(plain, blocks, rule);
  std::optional<QuantiseArgs> second;
  if (turned != nullptr) second = matrix_args(plain, *turned, rule);
  if (first && second && first->rows == second->rows && first->cols == second->cols &&
      first->pitch == second->pitch) {
    (second->along_cols.values != nullptr ? first->along_cols : first->along_rows) =
        second->along_cols.values != nullptr ? second->along_cols : second->along_rows;
    const Launch launch = prepare_quantise(*first);
    works.push_back({*first, launch});
    return works;
  }
  const auto add = [&](std::optional<QuantiseArgs>& args, const BlockArrays& to) {
    if (!args) return works.push_back(any_work(plain, to, rule, false));
    const Launch launch = prepare_quantise(*args);
    works.push_back({*args, launch});
  };
  add(first, blocks);
  if (turned != nullptr) add(second, *turned);
  return works;
}

BlocksWork dequantise_work(const PlainArray& plain, const BlockArrays& blocks, BlockFormat format) {
  if (std::optional<DequantiseArgs> args = dequantise_args(plain, blocks, format)) {
    const Launch launch = prepare_dequantise(*args);
    return {*args, launch};
  }
  return any_work(plain, blocks, {format, values::MxScale::floor}, true);
}

Launch prepare_quantise(kernels::QuantiseArgs& args) {
  Launch launch;
  kernels::dispatch(args, [&]<class Kernel>() {
    const auto down = static_cast<std::uint32_t>(ceil_div(args.rows, Kernel::tile_rows));
    const auto across = static_cast<std::uint32_t>(ceil_div(args.cols, Kernel::tile_cols));
    args.tiles_down = FastDivide(down);
    launch.grid = {down * across, args.matrices, 1};
    launch.block = {static_cast<unsigned>(Kernel::threads), 1, 1};
    launch.dynamic_shared = Kernel::shared_bytes;
  });
  return launch;
}

Launch prepare_dequantise(DequantiseArgs& args) {
  Launch launch;
  kernels::dispatch(args, [&]<class Kernel>() {
    const auto down = static_cast<std::uint32_t>(ceil_div(args.lines, Kernel::lines));
    const auto along = static_cast<std::uint32_t>(ceil_div(args.length, Kernel::length));
    args.tiles_fast = FastDivide(args.turned ? down : along);
    launch.grid = {down * along, args.matrices, 1};
    launch.block = {static_cast<unsigned>(Kernel::threads), 1, 1};
    launch.dynamic_shared = Kernel::shared_bytes;
  });
  return launch;
}

}  // namespace cornerturn::plan::gpu
