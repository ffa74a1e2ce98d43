#include "core/blocks.hpp"

#include <memory>

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
