#include "plan/gpu/block_lines.hpp"

#include <algorithm>
#include <cstdlib>

#include "core/divide.hpp"
#include "values/blocks.hpp"

namespace cornerturn::plan::gpu {
namespace {

// More than kernels of tiles can count, of 64 x 64 elements at least.
bool has_too_many_tiles(std::int64_t length, std::int64_t lines) {
  constexpr std::int64_t most = std::int64_t{1} << 31, side = 64;
  return length >= most || lines >= most || ceil_div(length, side) * ceil_div(lines, side) >= most;
}

}  // namespace

const char* why_not_lines(const Problem& normal) {
  const Blocks& blocks = *normal.blocks;
  const auto is_tiled = [](const BlockLayout& layout) {
    return layout.order != ScaleOrder::strided;
  };
  if (!is_line_of_32(blocks.rule.format)) return "the blocks are not 32 values of a line";
  if (blocks.rule.rounding != Rounding::nearest_even) return "values are rounded stochastically";
  if (is_tiled(blocks.first) || (blocks.second && is_tiled(*blocks.second))) {
    return "the scales do not lie at equal distances";
  }
  return nullptr;
}

BlockLines::BlockLines(const Problem& normal, const BlockLayout& layout)
    : q8(normal.blocks->rule.format == BlockFormat::q8_0) {
  for (int i = 0; i < normal.rank(); ++i) {
    const auto at = static_cast<std::size_t>(i);
    const LineMode mode{normal.modes[i].extent, plain_stride(normal, i), layout.value_strides[at],
                        q8 ? 0 : layout.scale_strides[at], i == layout.across};
    if (i == layout.axis) {
      along = mode;
    } else if (mode.extent != 1) {
      modes.push_back(mode);
    }
  }
  // The fastest of the array first where lanes follow it, else that of the blocks.
  const auto by = [&](std::int64_t LineMode::*stride) {
    std::sort(modes.begin(), modes.end(), [stride](const LineMode& a, const LineMode& b) {
      return std::abs(a.*stride) < std::abs(b.*stride);
    });
  };
  by(&LineMode::values);
  values_across = !q8 && !modes.empty() && std::abs(modes[0].values) < std::abs(along.values);
  by(&LineMode::plain);
  plain_across = !modes.empty() && std::abs(modes[0].plain) < std::abs(along.plain);
  if (!plain_across) by(&LineMode::values);
  for (std::size_t i = 0; i + 1 < modes.size();) {
    if (modes[i + 1].continues(modes[i])) {
      modes[i].extent *= modes[i + 1].extent;
      modes.erase(modes.begin() + static_cast<std::ptrdiff_t>(i) + 1);
    } else {
      ++i;
    }
  }
}

void BlockLines::split_few() {
  std::int64_t count = 1;
  for (const LineMode& mode : modes) count *= mode.extent;
  if (count >= block_size || length() <= block_size || length() % block_size != 0) return;
  const LineMode of_blocks{blocks(), along.plain * block_size,
                           q8 ? along.values : along.values * block_size, along.scales};
  modes.insert(plain_across ? modes.end() : modes.begin(), of_blocks);
  along.extent = block_size;
}

std::int64_t BlockLines::blocks() const {
  return ceil_div(length(), block_size);
}

std::int64_t BlockLines::block_bytes() const {
  return q8 ? q8_bytes : block_size;
}

LineStack::LineStack(const BlockLines& lines)
    : q8(lines.q8), columns(lines.plain_across), others(lines.modes.size()), along(lines.along) {
  if (others > 0) line = lines.modes[0];
  if (others > 1) batch = lines.modes[1];
}

bool is_known(ElementType type) {
  const Kind kind = type.kind();
  return !type.is_swapped() && (kind == Kind::f32 || kind == Kind::f16 || kind == Kind::bf16);
}

const char* LineStack::why_not(const Problem& normal) const {
  constexpr std::int64_t vector = 16;
  const ElementType type = plain_type(normal);
  if (!is_known(type)) return "the values are not f32, f16 or bf16";
  if (others > 2) return "the array is no stack of matrices";
  if ((columns ? line.plain : along.plain) != type.size()) {
    return "the values of a row are not next to each other";
  }
  if (pitch() % vector != 0 || batch.plain % vector != 0) {
    return "rows do not begin at multiples of 16 B";
  }
  if (batch.extent > 65535) return "more than 65535 matrices";
  if (has_too_many_tiles(along.extent, line.extent)) return "2^31 tiles or more";
  return nullptr;
}

}  // namespace cornerturn::plan::gpu
