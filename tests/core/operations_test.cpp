// Problems that are no moves: what they are called, how they are normalised, what they are equal
// to.
#include <gtest/gtest.h>

#include "core/normalise.hpp"
#include "core/problem.hpp"

namespace cornerturn {
namespace {

Blocks q8_along(int axis, Extents value_strides) {
  Blocks blocks;
  blocks.first = {axis, std::move(value_strides), {}};
  return blocks;
}

const ElementType real(Kind::f32);

TEST(Operations, AProblemSaysWhatItDoes) {
  Problem problem;
  problem.src_type = problem.dst_type = real;
  EXPECT_EQ(problem.operation(), Operation::move);
  problem.dst_type = ElementType(Kind::f16);
  EXPECT_EQ(problem.operation(), Operation::convert);
  Blocks blocks = q8_along(1, {68, 34});
  EXPECT_EQ(block_problem(real, {6, 64}, {256, 4}, blocks).operation(), Operation::quantise);
  blocks.back = true;
  EXPECT_EQ(block_problem(real, {6, 64}, {256, 4}, blocks).operation(), Operation::dequantise);
  EXPECT_EQ(reduce_problem(real, {6, 64}, {256, 4}).operation(), Operation::reduce);

  // What is conjugated converts, if it has an imaginary part.
  for (const Kind kind : {Kind::c64, Kind::c128, Kind::f64}) {
    Problem conjugate;
    conjugate.src_type = conjugate.dst_type = ElementType(kind);
    EXPECT_FALSE(conjugate.converts());
    conjugate.values.conjugate = true;
    EXPECT_EQ(conjugate.converts(), kind != Kind::f64);
  }
}

TEST(Operations, TextsTellThemApart) {
  EXPECT_EQ(to_string(block_problem(real, {6, 64}, {256, 4}, q8_along(1, {68, 34}))),
            "f32->b34 (6,64):(256,4)->(68,34) quantise q8_0 along 1");
  Blocks both;
  both.rule = {BlockFormat::mxfp8_e4m3, BlockScale::ceil};
  both.first = {1, {64, 1}, {2, 1}};
  both.second = BlockLayout{0, {1, 32}, {1, 64}};
  EXPECT_EQ(
      to_string(block_problem(real, {32, 64}, {256, 4}, both)),
      "f32->f8_e4m3 (32,64):(256,4)->(64,1) quantise mxfp8_e4m3 along 1 ceil scales (2,1) and "
      "along 0 (1,32) scales (1,64)");
  EXPECT_EQ(to_string(reduce_problem(real, {3}, {4})), "f32->u64 (3):(4)->(0) reduce");
}

TEST(Operations, TextsSayWhatIsDoneToValues) {
  Problem problem;
  problem.src_type = real;
  problem.dst_type = ElementType(Kind::f16);
  problem.modes.push_back({3, 16, 8});
  problem.modes.push_back({4, 4, 2});
  EXPECT_EQ(to_string(problem), "f32->f16 (3,4):(16,4)->(8,2)");
  problem.values.alpha = 2;
  problem.values.beta = 0.5;
  problem.scale = {true, 1, -1, 7};
  problem.bias = {true, -1, 0, 5};
  problem.values.conjugate = true;
  problem.values.overflow = Overflow::saturate;
  problem.values.rounding = Rounding::stochastic;
  problem.values.seed = 9;
  EXPECT_EQ(to_string(problem),
            "f32->f16 (3,4):(16,4)->(8,2) alpha 2 scale[7-1i1] bias[5] beta 0.5 conjugate saturate "
            "stochastic 9");
  problem.values.place = 12;
  problem.src_offset = 3;
  const std::string text = to_string(problem);
  EXPECT_NE(text.find("(8,2) from +3 to +0"), std::string::npos) << text;
  EXPECT_NE(text.find("stochastic 9 from 12"), std::string::npos) << text;
}

TEST(Operations, HaveNames) {
  EXPECT_STREQ(name_of(Operation::move), "move");
  EXPECT_STREQ(name_of(Operation::convert), "convert");
  EXPECT_STREQ(name_of(Operation::quantise), "quantise");
  EXPECT_STREQ(name_of(Operation::dequantise), "dequantise");
  EXPECT_STREQ(name_of(Operation::reduce), "reduce");
  EXPECT_STREQ(name_of(Operation::in_place), "in place");
}

TEST(Operations, BytesAreThoseWritten) {
  EXPECT_EQ(block_problem(real, {6, 65}, {260, 4}, q8_along(1, {102, 34})).bytes(), 6 * 3 * 34);
  EXPECT_EQ(block_problem(real, {6, 0}, {260, 4}, q8_along(1, {102, 34})).bytes(), 0);
  Blocks blocks = q8_along(1, {68, 34});
  blocks.back = true;
  EXPECT_EQ(block_problem(real, {6, 64}, {256, 4}, blocks).bytes(), 6 * 64 * 4);
  EXPECT_EQ(reduce_problem(real, {3, 5}, {20, 4}).bytes(), 60);
}

TEST(Operations, BlocksAreEqualByValue) {
  const Problem a = block_problem(real, {6, 64}, {256, 4}, q8_along(1, {68, 34}));
  EXPECT_EQ(a, block_problem(real, {6, 64}, {256, 4}, q8_along(1, {68, 34})));
  EXPECT_NE(a, block_problem(real, {6, 64}, {256, 4}, q8_along(0, {68, 34})));
  Problem move = a;
  move.blocks = nullptr;
  EXPECT_NE(a, move);
}

TEST(Operations, ModesWithoutBlocksAreSortedAndFused) {
  // Axes: 1, then two that follow each other in both arrays, in the wrong order, then the blocks.
  Blocks blocks = q8_along(3, {0, 68, 340, 34});
  std::vector<std::string> steps;
  const Problem normal =
      normalise(block_problem(real, {1, 5, 7, 64}, {0, 256, 1280, 4}, blocks), {}, &steps);
  EXPECT_EQ(normal, block_problem(real, {35, 64}, {256, 4}, q8_along(1, {68, 34})));
  EXPECT_EQ(steps.size(), 3u);
  EXPECT_EQ(normalise(normal), normal);
}

TEST(Operations, AModeOfOneBlockStays) {
  const Problem one = block_problem(real, {5, 1}, {4, 4}, q8_along(1, {34, 34}));
  EXPECT_EQ(normalise(one), one);
}

TEST(Operations, ModesFuseOnlyWhereScalesDoAsWell) {
  Blocks blocks;
  blocks.rule.format = BlockFormat::mxfp8_e4m3;
  blocks.first = {2, {320, 64, 1}, {100, 2, 1}};
  EXPECT_EQ(normalise(block_problem(real, {3, 5, 64}, {1280, 256, 4}, blocks)).rank(), 3);
  blocks.first.scale_strides = {10, 2, 1};
  EXPECT_EQ(normalise(block_problem(real, {3, 5, 64}, {1280, 256, 4}, blocks)).rank(), 2);
}

TEST(Operations, ReductionsReadInTheOrderOfTheMemory) {
  const Problem normal = normalise(reduce_problem(real, {4, 6, 5, 1, 9}, {4, -80, 16, 7, 0}));
  EXPECT_EQ(normal.modes, (ModeList{{120, 4, 0}}));
  EXPECT_EQ(normal.src_offset, -400);
  EXPECT_EQ(normalise(normal), normal);
  EXPECT_EQ(normalise(reduce_problem(real, {3, 0}, {4, 4})).elements(), 0);
  EXPECT_EQ(normalise(reduce_problem(real, {3, 5}, {64, 8})).modes,
            (ModeList{{3, 64, 0}, {5, 8, 0}}));
}

}  // namespace
}  // namespace cornerturn
