#include "core/blocks.hpp"

#include <algorithm>
#include <memory>

#include "core/lists.hpp"
#include "core/problem.hpp"

namespace cornerturn {

ElementType type_of_blocks(BlockFormat format) {
  const BlockRow& row = row_of(format);
  switch (row.element) {
    case BlockElement::e4m3:
      return ElementType(Kind::f8_e4m3);
    case BlockElement::e5m2:
      return ElementType(Kind::f8_e5m2);
    case BlockElement::e2m1:
      return ElementType(Kind::u8);
    case BlockElement::packed:
      break;
  }
  return ElementType::bytes(row.packed_bytes);
}

std::string name_of(BlockFormat format) {
  return std::string(row_of(format).name);
}

Problem block_problem(ElementType plain, const Extents& shape, const Extents& strides,
                      const Blocks& blocks) {
  Problem problem;
  const ElementType of_blocks = type_of_blocks(blocks.rule.format);
  problem.src_type = blocks.back ? of_blocks : plain;
  problem.dst_type = blocks.back ? plain : of_blocks;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const std::int64_t values = blocks.first.value_strides[i];
    problem.modes.push_back(blocks.back ? Mode{shape[i], values, strides[i]}
                                        : Mode{shape[i], strides[i], values});
  }
  problem.blocks = std::make_shared<const Blocks>(blocks);
  return problem;
}

Problem with_listed_axis(Problem problem, int axis, Places places) {
  const int last = problem.rank() - 1;
  const auto moved = [&](int mode) { return mode == axis ? last : mode > axis ? mode - 1 : mode; };
  Blocks blocks = *problem.blocks;
  const auto move_in = [&](BlockLayout& layout) {
    for (Extents* strides : {&layout.value_strides, &layout.scale_strides}) {
      if (strides->empty()) continue;
      const auto from = strides->begin() + axis;
      std::rotate(from, from + 1, strides->end());
    }
    layout.axis = moved(layout.axis);
    if (layout.across >= 0) layout.across = moved(layout.across);
  };
  move_in(blocks.first);
  if (blocks.second) move_in(*blocks.second);
  const Mode mode = problem.modes[axis];
  problem.modes.erase(axis);
  ListMode listed{
      mode.extent, {Places::strides, mode.src_stride}, {Places::strides, mode.dst_stride}};
  (blocks.back ? listed.dst : listed.src).places = places;
  problem.lists = std::make_shared<const Lists>(Lists{{listed}, Missing::zeros});
  problem.blocks = std::make_shared<const Blocks>(std::move(blocks));
  return problem;
}

Problem reduce_problem(ElementType type, const Extents& shape, const Extents& strides) {
  Problem problem;
  problem.src_type = type;
  problem.dst_type = ElementType(Kind::u64);
  problem.reduces = true;
  for (std::size_t i = 0; i < shape.size(); ++i) problem.modes.push_back({shape[i], strides[i], 0});
  return problem;
}

ElementType plain_type(const Problem& problem) {
  return problem.blocks->back ? problem.dst_type : problem.src_type;
}

std::int64_t plain_stride(const Problem& problem, int mode) {
  const Mode& at = problem.modes[mode];
  return problem.blocks->back ? at.dst_stride : at.src_stride;
}

}  // namespace cornerturn
