#include "plan/gpu/quantise_tile.hpp"

#include <utility>

#include "core/divide.hpp"
#include "plan/gpu/block_lines.hpp"

namespace cornerturn::plan::gpu {
namespace {

constexpr std::int64_t vector_bytes = 16;

std::int64_t stride_of(const Extents& strides, const TileMode& mode) {
  return mode.number < 0 ? 0 : strides[static_cast<std::size_t>(mode.number)];
}

bool is_square(const BlockRow& row) {
  return row.across > 1;
}

// The lines of a result, and the mode along them.
struct Lines {
  Lines(const TileStack& stack, const Problem& normal, const BlockLayout& of)
      : layout(of), row(normal.blocks->row()) {
    const bool of_rows = along_rows(normal, of);
    line = of_rows ? stack.rows : stack.cols;
    along = of_rows ? stack.cols : stack.rows;
  }

  std::int64_t blocks() const { return ceil_div(along.extent, row.along); }
  std::int64_t scale_lines() const {
    if (layout.order == ScaleOrder::tiles_128x4) return ceil_div(line.extent, 128L) * 128;
    return is_square(row) ? ceil_div(line.extent, row.across) : line.extent;
  }
  std::int64_t line_step() const { return stride_of(layout.scale_strides, line); }
  std::int64_t block_step() const { return stride_of(layout.scale_strides, along); }
  // Are the four scales of a square's line a word that may be written at once? Zeros fill it up.
  bool are_words(const TileStack& stack) const {
    if (row.scale == ScaleType::f32 || is_square(row)) return false;
    if (layout.order == ScaleOrder::tiles_128x4) return true;
    const bool next = layout.order == ScaleOrder::packed_4 ? block_step() % 4 == 0
                                                           : block_step() == 1 && blocks() % 4 == 0;
    return next && line_step() % 4 == 0 && stride_of(layout.scale_strides, stack.batch) % 4 == 0;
  }

  kernels::TileSide side(const TileStack& stack, std::byte* some) const {
    kernels::TileSide side;
    side.values = some;
    side.scales = some;
    const std::int64_t fill = is_square(row) ? row.across : 1;
    side.lines = static_cast<std::uint32_t>(ceil_div(line.extent, fill) * fill);
    side.length = static_cast<std::uint32_t>(blocks() * row.along);
    side.pitch = stride_of(layout.value_strides, line);
    side.value_step = stride_of(layout.value_strides, stack.batch);
    side.scale_step = stride_of(layout.scale_strides, stack.batch);
    side.scale_lines = static_cast<std::uint32_t>(scale_lines());
    side.scale_blocks = static_cast<std::uint32_t>(blocks());
    side.words = are_words(stack);
    side.tiles = layout.order == ScaleOrder::tiles_128x4;
    side.steps = {layout.order, row.scale_bytes(), line_step(), block_step()};
    side.square_step = row.scale == ScaleType::f32 ? side.steps.block : side.steps.four;
    return side;
  }

  BlockLayout layout;
  BlockRow row;
  TileMode line;
  TileMode along;
};

const char* why_not_lines(const TileStack& stack, const Lines& lines) {
  const BlockLayout& layout = lines.layout;
  if (lines.along.number != layout.axis) return "the two results are not those of one matrix";
  if (layout.across >= 0 && lines.line.number >= 0 && lines.line.number != layout.across) {
    return "the lines of blocks are not those of a matrix";
  }
  if (stride_of(layout.value_strides, lines.along) != 1 && lines.along.extent > 1) {
    return "the values of a line are not next to each other";
  }
  if (stride_of(layout.value_strides, lines.line) % vector_bytes != 0 ||
      stride_of(layout.value_strides, stack.batch) % vector_bytes != 0) {
    return "lines of the result do not begin at multiples of 16 B";
  }
  if (layout.order == ScaleOrder::strided) return nullptr;
  if (is_square(lines.row)) return "scales of squares in fours or tiles";
  if (!lines.are_words(stack)) return "fours of scales do not begin at multiples of 4 B";
  return nullptr;
}

}  // namespace

bool along_rows(const Problem& normal, const BlockLayout& layout) {
  return layout.axis < normal.rank() &&
         normal.modes[layout.axis].src_stride == normal.src_type.size();
}

TileStack::TileStack(const Problem& normal) {
  const Blocks& blocks = *normal.blocks;
  const auto mode = [&](int i) {
    return TileMode{i, normal.modes[i].extent, normal.modes[i].src_stride};
  };
  const auto is_unit = [&](int i) { return normal.modes[i].src_stride == normal.src_type.size(); };
  const bool first_along_rows = along_rows(normal, blocks.first);
  (first_along_rows ? cols : rows) = mode(blocks.first.axis);
  // The mode across the blocks: as the blocks say, as the other result has it, or the only one that
  // lies next to each other, or the longest.
  int across = blocks.second ? blocks.second->axis : blocks.first.across;
  for (int i = 0; i < normal.rank() && across < 0 && !first_along_rows; ++i) {
    if (i != blocks.first.axis && is_unit(i)) across = i;
  }
  for (int i = 0; i < normal.rank() && first_along_rows && blocks.first.across < 0; ++i) {
    if (i == blocks.first.axis || blocks.second) continue;
    if (across < 0 || normal.modes[i].extent > normal.modes[across].extent) across = i;
  }
  if (across >= 0) (first_along_rows ? rows : cols) = mode(across);
  for (int i = 0; i < normal.rank(); ++i) {
    if (i == rows.number || i == cols.number || normal.modes[i].extent == 1) continue;
    others = others || batch.number >= 0;
    batch = mode(i);
  }
}

const char* TileStack::why_not(const Problem& normal, int list) const {
  constexpr std::int64_t most = std::int64_t{1} << 30;
  const Blocks& blocks = *normal.blocks;
  const BlockRow& row = blocks.row();
  const bool e2m1 = row.element == BlockElement::e2m1;
  const bool known = (row.scale == ScaleType::f32 && row.along == 128 && !e2m1) ||
                     (row.scale == ScaleType::e8m0 && row.along == 32) ||
                     (row.scale == ScaleType::e4m3 && row.along == 16 && e2m1);
  if (!known || (is_square(row) && (e2m1 || row.across != row.along))) {
    return "the blocks are not floats of 8 or 4 bits beside their scales";
  }
  if (blocks.rule.rounding != Rounding::nearest_even) return "values are rounded stochastically";
  if (!is_known(normal.src_type)) return "the values are not f32, f16 or bf16";
  const std::int64_t size = normal.src_type.size();
  if (others) return "the array is no stack of matrices";
  if (cols.number < 0 || cols.number == list || (cols.plain != size && cols.extent > 1)) {
    return "the values of a row are not next to each other";
  }
  if (rows.plain % vector_bytes != 0 || batch.plain % vector_bytes != 0) {
    return "rows do not begin at multiples of 16 B";
  }
  if (cols.extent * size % vector_bytes != 0) return "rows are not whole multiples of 16 B";
  if (batch.extent > 65535) return "more than 65535 matrices";
  if (rows.extent > most || cols.extent > most ||
      ceil_div(rows.extent, 128L) * ceil_div(cols.extent, 128L) > most) {
    return "2^30 rows, columns or tiles or more";
  }
  if (const char* rule = why_not_lines(*this, Lines(*this, normal, blocks.first))) return rule;
  if (!blocks.second) return nullptr;
  if (along_rows(normal, *blocks.second) == along_rows(normal, blocks.first)) {
    return "the two results are not those of one matrix";
  }
  return why_not_lines(*this, Lines(*this, normal, *blocks.second));
}

kernels::QuantiseTileArgs TileStack::args(const Problem& normal, std::byte* some) const {
  const Blocks& blocks = *normal.blocks;
  const BlockRow& row = blocks.row();
  kernels::QuantiseTileArgs args;
  args.pitch = rows.plain;
  args.src_step = batch.plain;
  args.matrices = static_cast<std::uint32_t>(batch.extent);
  args.rows = static_cast<std::uint32_t>(rows.extent);
  args.cols = static_cast<std::uint32_t>(cols.extent);
  args.kind = normal.src_type.kind();
  args.e2m1 = row.element == BlockElement::e2m1;
  args.e5m2 = row.element == BlockElement::e5m2;
  args.f32_scales = row.scale == ScaleType::f32;
  args.e4m3_scales = row.scale == ScaleType::e4m3;
  args.square = is_square(row);
  args.rule = blocks.rule.scale;
  const auto set = [&](const BlockLayout& layout) {
    (along_rows(normal, layout) ? args.along_rows : args.along_cols) =
        Lines(*this, normal, layout).side(*this, some);
  };
  set(blocks.first);
  if (blocks.second) set(*blocks.second);
  return args;
}

}  // namespace cornerturn::plan::gpu
