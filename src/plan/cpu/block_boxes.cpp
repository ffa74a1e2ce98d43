#include "plan/cpu/block_boxes.hpp"

#include <utility>

#include "core/divide.hpp"
#include "values/blocks.hpp"

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
  ShapeOfBoxes(const BoxGrid& grid, int shape, const Problem& normal) : rank_(grid.rank) {
    for (int i = 0; i < rank_; ++i) {
      count_[static_cast<std::size_t>(i)] = grid.count_of(shape, i, normal.modes[i]);
    }
  }

  BlockStage stage(int axis) const { return block_stage(count_, rank_, axis); }

  Side staged(int axis, ElementType type) const {
    const BlockStage of_axis = stage(axis);
    Extents strides(of_axis.stride.begin(), of_axis.stride.begin() + rank_);
    for (std::int64_t& stride : strides) stride *= type.size();
    return {type, std::move(strides)};
  }

  Problem move(const Side& src, const Side& dst) const {
    Problem problem;
    problem.src_type = src.type;
    problem.dst_type = dst.type;
    for (int i = 0; i < rank_; ++i) {
      const auto slot = static_cast<std::size_t>(i);
      problem.modes.push_back({count_[slot], src.strides[slot], dst.strides[slot]});
    }
    return problem;
  }

  // Values of MXFP8 between their stage and their array, those that fill blocks as well.
  Problem move_codes(const BlockLayout& layout, bool back) const {
    const ElementType code = ElementType::bytes(1);
    const Side array{code, layout.value_strides};
    const Side stage_side = staged(layout.axis, code);
    Problem problem = back ? move(array, stage_side) : move(stage_side, array);
    problem.modes[layout.axis].extent = stage(layout.axis).pitch;
    return problem;
  }

 private:
  int rank_;
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

BlockStage block_stage(const BoxGrid::PerMode& count, int rank, int axis) {
  BlockStage stage;
  stage.length = count[static_cast<std::size_t>(axis)];
  stage.pitch = ceil_div(stage.length, std::int64_t{values::block_size}) * values::block_size;
  stage.stride[static_cast<std::size_t>(axis)] = 1;
  for (int i = rank; i-- > 0;) {
    if (i == axis) continue;
    stage.stride[static_cast<std::size_t>(i)] = stage.elements();
    stage.stripes *= count[static_cast<std::size_t>(i)];
  }
  return stage;
}

BlockBoxes plan_block_boxes(Extents extent, const Problem& normal, const CpuInfo& cpu) {
  const Blocks& blocks = *normal.blocks;
  const BoxGrid grid = block_grid(extent, normal);
  const Side plain = plain_side(normal);
  const ElementType f32(Kind::f32);
  const Machine machine(cpu);
  // Moves of boxes: problem(shape) is that of one shape.
  const auto moves = [&](const auto& problem) {
    return plan_moves(
        grid.shapes(), [&](int shape) { return problem(ShapeOfBoxes(grid, shape, normal)); },
        machine);
  };
  const auto moves_of_codes = [&](const BlockLayout& layout) {
    if (blocks.rule.format == BlockFormat::q8_0) return BoxMoves{};
    return moves([&](const ShapeOfBoxes& boxes) { return boxes.move_codes(layout, blocks.back); });
  };
  BlockBoxes planned;
  planned.extent = std::move(extent);
  planned.plain = moves([&](const ShapeOfBoxes& boxes) {
    const Side stage = boxes.staged(blocks.first.axis, f32);
    return blocks.back ? boxes.move(stage, plain) : boxes.move(plain, stage);
  });
  planned.codes = moves_of_codes(blocks.first);
  if (!blocks.second) return planned;
  planned.transposed = moves([&](const ShapeOfBoxes& boxes) {
    return boxes.move(boxes.staged(blocks.first.axis, f32), boxes.staged(blocks.second->axis, f32));
  });
  planned.second_codes = moves_of_codes(*blocks.second);
  return planned;
}

}  // namespace cornerturn::plan
