#include "plan/cpu/block_boxes.hpp"

#include <utility>

#include "core/divide.hpp"

namespace cornerturn::plan {
namespace {

// What is moved between an array and a stage, or between two stages.
struct Side {
  ElementType type;
  Extents strides;  // in bytes
};

// Boxes of one shape.
class ShapeOfBoxes {
 public:
  ShapeOfBoxes(const BoxGrid& grid, int shape, const Problem& normal)
      : rank_(grid.rank), row_(normal.blocks->row()) {
    for (int i = 0; i < rank_; ++i) {
      count_[static_cast<std::size_t>(i)] = grid.count_of(shape, i, normal.modes[i]);
    }
  }

  Side staged(const BlockLayout& layout, ElementType type) const {
    const BlockStage stage = block_stage(count_, rank_, layout, row_);
    Extents strides(stage.stride.begin(), stage.stride.begin() + rank_);
    for (std::int64_t& stride : strides) stride *= type.size();
    return {type, std::move(strides)};
  }

  // Without mode `list`, unless that is -1.
  Problem move(const Side& src, const Side& dst, int list = -1) const {
    Problem problem;
    problem.src_type = src.type;
    problem.dst_type = dst.type;
    for (int i = 0; i < rank_; ++i) {
      if (i == list) continue;
      const auto slot = static_cast<std::size_t>(i);
      problem.modes.push_back({count_[slot], src.strides[slot], dst.strides[slot]});
    }
    return problem;
  }

  // Codes between their stage and their array, those that fill blocks as well.
  Problem move_codes(const BlockLayout& layout, bool back) const {
    const ElementType code = ElementType::bytes(1);
    const Side array{code, layout.value_strides};
    Side stage = staged(layout, code);
    const int of_unit = row_.values_per_unit();
    for (int i = 0; i < rank_; ++i) {
      if (i != layout.axis) stage.strides[static_cast<std::size_t>(i)] /= of_unit;
    }
    Problem problem = back ? move(array, stage) : move(stage, array);
    const auto fill = [&](int mode, int of_block) -> std::int64_t& {
      std::int64_t& extent = problem.modes[mode].extent;
      extent = ceil_div(extent, std::int64_t{of_block}) * of_block;
      return extent;
    };
    fill(layout.axis, row_.along) /= of_unit;
    if (row_.across > 1) fill(layout.across, row_.across);
    return problem;
  }

 private:
  int rank_;
  const BlockRow& row_;
  BoxGrid::PerMode count_{};
};

Side plain_side(const Problem& normal) {
  Side side{normal.blocks->back ? normal.dst_type : normal.src_type, {}};
  for (int i = 0; i < normal.rank(); ++i) side.strides.push_back(plain_stride(normal, i));
  return side;
}

}  // namespace

BoxGrid block_grid(const Extents& extent, const Problem& normal) {
  BoxGrid grid;
  grid.rank = normal.rank();
  for (int i = 0; i < grid.rank; ++i) {
    const auto slot = static_cast<std::size_t>(i);
    grid.extent[slot] = extent[slot];
    grid.order[slot] = grid.rank - 1 - i;
  }
  grid.count_boxes(normal);
  return grid;
}

BlockStage block_stage(const BoxGrid::PerMode& count, int rank, const BlockLayout& layout,
                       const BlockRow& row) {
  BlockStage stage;
  const auto filled = [&](int mode, int of_block) {
    const std::int64_t given = count[static_cast<std::size_t>(mode)];
    const std::int64_t whole = ceil_div(given, std::int64_t{of_block}) * of_block;
    if (whole != given) stage.is_padded = true;
    return whole;
  };
  stage.pitch = filled(layout.axis, row.along);
  stage.stride[static_cast<std::size_t>(layout.axis)] = 1;
  for (int i = rank; i-- > 0;) {
    if (i == layout.axis) continue;
    stage.stride[static_cast<std::size_t>(i)] = stage.elements();
    stage.stripes *= filled(i, i == layout.across ? row.across : 1);
  }
  return stage;
}

BlockBoxes plan_block_boxes(Extents extent, const BlockModes& modes, const CpuInfo& cpu) {
  const Problem& normal = modes.problem;
  const Blocks& blocks = *normal.blocks;
  const BoxGrid grid = block_grid(extent, normal);
  const Side plain = plain_side(normal);
  const ElementType f32(Kind::f32);
  const Machine machine(cpu);
  // Moves of boxes: problem(shape) is that of one shape.
  const auto moves_of = [&](const auto& problem) {
    return plan_moves(
        grid.shapes(), [&](int shape) { return problem(ShapeOfBoxes(grid, shape, normal)); },
        machine);
  };
  const auto moves_of_codes = [&](const BlockLayout& layout) {
    if (!blocks.row().has_scales()) return BoxMoves{};
    return moves_of(
        [&](const ShapeOfBoxes& boxes) { return boxes.move_codes(layout, blocks.back); });
  };
  BlockBoxes planned;
  planned.extent = std::move(extent);
  planned.plain = moves_of([&](const ShapeOfBoxes& boxes) {
    const Side stage = boxes.staged(blocks.first, f32);
    return blocks.back ? boxes.move(stage, plain, modes.list)
                       : boxes.move(plain, stage, modes.list);
  });
  planned.codes = moves_of_codes(blocks.first);
  if (!blocks.second) return planned;
  planned.transposed = moves_of([&](const ShapeOfBoxes& boxes) {
    return boxes.move(boxes.staged(blocks.first, f32), boxes.staged(*blocks.second, f32));
  });
  planned.second_codes = moves_of_codes(*blocks.second);
  return planned;
}

}  // namespace cornerturn::plan
