// Random problems with lists whose values change, and what they should do.
#pragma once

#include <utility>
#include <vector>

#include "support/conversions.hpp"
#include "support/listed_cases.hpp"

namespace cornerturn::test::listed {

struct ChangingCase : Case {
  Epilogue epilogue;
  std::vector<float> numbers;  ///< of the epilogue's scale

  Buffers buffers() const {
    Buffers buffers = Case::buffers();
    buffers.vectors = {epilogue.scale, epilogue.bias};
    return buffers;
  }
};

/// Both lists belong to one axis.
inline ChangingCase random_changing_case(Cases& cases) {
  static constexpr std::pair<Kind, Kind> pairs[] = {
      {Kind::f32, Kind::bf16}, {Kind::bf16, Kind::f32},     {Kind::f32, Kind::f8_e4m3},
      {Kind::u8, Kind::f32},   {Kind::bf16, Kind::f8_e5m2}, {Kind::f64, Kind::f32},
      {Kind::i64, Kind::f16},  {Kind::f32, Kind::c128},     {Kind::c64, Kind::c64}};
  ChangingCase one;
  const auto& [from, to] = pairs[cases.uniform(0, 8)];
  one.src_type = ElementType(from);
  one.dst_type = ElementType(to);
  cases.in_rows = cases.chance(0.5);
  const bool pages = cases.in_rows && cases.chance(0.5);
  const Extents shape =
      pages ? Extents{cases.uniform(1, 5), 16 * cases.uniform(1, 4), 48} : cases.shape();
  const auto rank = static_cast<int>(shape.size());
  const int axis =
      pages ? 0 : static_cast<int>(cases.uniform(0, cases.in_rows ? rank - 2 : rank - 1));
  do {
    one.src = cases.side(shape, one.src_type.size(), random_places(cases), axis, false);
    cases.turned = pages;
    one.dst = cases.side(shape, one.dst_type.size(), random_places(cases), axis, true);
    cases.turned = false;
  } while (!one.has_list());
  one.src.list.missing = cases.chance(0.5) ? Missing::zeros : Missing::left;
  for (auto* side : {&one.src, &one.dst}) {
    const ElementType type = side == &one.src ? one.src_type : one.dst_type;
    for (auto& memory : side->memory) {
      // From the first element on, so that elements are values.
      const auto size = static_cast<std::int64_t>(memory.size() - side->phase);
      fill_values(type.kind(), memory.data() + side->phase, size / type.size() * type.size());
    }
  }
  one.epilogue.conjugate = from == Kind::c64;
  if (cases.chance(0.3)) one.epilogue.alpha = 1.5;
  if (cases.chance(0.2)) one.epilogue.beta = 0.5;
  one.numbers = scale_values(200, 0.25F);
  if (rank > 1 && to != Kind::c128 && from != Kind::c64 && cases.chance(0.2)) {
    one.epilogue.scale = one.numbers.data();
    one.epilogue.scale_mode = axis == 0 ? 1 : 0;
  }
  one.problem = make_problem(one.to(), one.from(), one.epilogue);
  return one;
}

// Writes to the destination what a conversion should leave there, step by step.
inline void convert_plainly(const ChangingCase& one) {
  Problem step = one.problem;
  step.lists = nullptr;
  const auto axis = static_cast<std::size_t>(
      one.src.list.places != Places::strides ? one.src.list.axis : one.dst.list.axis);
  const Reach reach = src_reach(step);
  const std::vector<std::byte> zeros(static_cast<std::size_t>(reach.high - reach.low));
  for (std::int64_t k = 0; k < one.src.shape[axis]; ++k) {
    Extents index(one.src.shape.size());
    index[axis] = k;
    const std::byte* from = one.src.at(index);
    std::byte* const to = one.dst.at(index);
    if (to == nullptr || (from == nullptr && one.src.list.missing == Missing::left)) continue;
    if (from == nullptr) from = zeros.data() - reach.low;
    reference_convert(step, {one.epilogue.scale, one.epilogue.bias}, from, to);
  }
}

}  // namespace cornerturn::test::listed
