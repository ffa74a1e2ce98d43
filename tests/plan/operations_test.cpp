// Plans of problems that quantise, dequantise or reduce.
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "cornerturn/error.hpp"
#include "plan/cpu/amax.hpp"
#include "plan/cpu/block_boxes.hpp"
#include "plan/cpu/blocks.hpp"
#include "plan/planner.hpp"
#include "plan/refusal.hpp"

namespace cornerturn::plan {
namespace {

const ElementType f32(Kind::f32);

Blocks q8_along_rows(std::int64_t columns, bool back = false) {
  return {{}, back, {1, {(columns + 31) / 32 * 34, 34}, {}}, {}};
}

// A matrix of f32 whose rows become blocks of MXFP8.
Problem mx_rows(std::int64_t rows, std::int64_t columns) {
  const std::int64_t blocks = (columns + 31) / 32;
  return block_problem(f32, {rows, columns}, {columns * 4, 4},
                       {{BlockFormat::mxfp8_e4m3, BlockScale::floor},
                        false,
                        {1, {blocks * 32, 1}, {blocks, 1}},
                        {}});
}

// That matrix, and its columns as well.
Problem mx_both(std::int64_t rows, std::int64_t columns) {
  Problem problem = mx_rows(rows, columns);
  Blocks blocks = *problem.blocks;
  blocks.second = BlockLayout{0, {1, (rows + 31) / 32 * 32}, {1, (rows + 31) / 32}};
  problem.blocks = std::make_shared<const Blocks>(blocks);
  return problem;
}

TEST(OperationPlans, EachOperationHasItsKernels) {
  struct Expected {
    Problem problem;
    std::string_view kernel;
    std::string_view refusal;
  };
  const Expected expected[] = {
      {mx_rows(60, 640), "blocks", "values are quantised"},
      {mx_both(60, 640), "blocks", "values are quantised"},
      {block_problem(f32, {60, 64}, {256, 4}, q8_along_rows(64)), "blocks", "values are quantised"},
      {block_problem(f32, {60, 64}, {256, 4}, q8_along_rows(64, true)), "blocks",
       "values are dequantised"},
      {reduce_problem(f32, {60, 64}, {256, 4}), "amax", "values are reduced to one number"},
  };
  for (const Expected& one : expected) {
    const Plan plan = make_plan(one.problem, CpuInfo{}, {1, ""});
    EXPECT_EQ(plan.kernel(), one.kernel);
    EXPECT_EQ(plan.candidates.size(), 1U);
    EXPECT_GT(plan.chosen.seconds(), 0);
    EXPECT_EQ(make_plan(one.problem, CpuInfo{}, {1, std::string(one.kernel)}).choice,
              Choice::forced);
    for (const Row& row : cpu_registry()) {
      const char* rule = why_not(row, plan.normal, CpuInfo{});
      if (row.name == one.kernel) {
        EXPECT_EQ(rule, nullptr);
      } else {
        EXPECT_EQ(std::string_view(rule), one.refusal) << row.name;
      }
    }
    EXPECT_NE(explain(plan).find(one.refusal), std::string::npos);
  }
}

TEST(OperationPlans, KernelsRefuseOtherOperations) {
  EXPECT_EQ(message_of(mx_rows(60, 64), {1, "gather"}),
            "kernel = 'gather' does not take this problem: values are quantised");
  EXPECT_EQ(message_of(reduce_problem(f32, {60}, {4}), {1, "blocks"}),
            "kernel = 'blocks' does not take this problem: values are reduced to one number");
  Problem move;
  move.src_type = move.dst_type = f32;
  move.modes = {{8, 4, 8}};
  EXPECT_EQ(message_of(move, {1, "blocks"}),
            "kernel = 'blocks' does not take this problem: values are only moved");
  EXPECT_EQ(message_of(move, {1, "amax"}),
            "kernel = 'amax' does not take this problem: values are only moved");
}

TEST(OperationPlans, ValuesHaveToBeReal) {
  const ElementType c64(Kind::c64);
  const Problem complex = reduce_problem(c64, {60}, {8});
  EXPECT_EQ(message_of(complex, {1, "amax"}),
            "kernel = 'amax' does not take this problem: the values are not real");
  EXPECT_EQ(message_of(complex, {1, ""}),
            "no kernel takes c64->u64 (60):(8)->(0) reduce on cpu; amax: the values are not real");
  const Problem blocks = block_problem(c64, {60, 64}, {512, 8}, q8_along_rows(64));
  EXPECT_EQ(message_of(blocks, {1, "blocks"}),
            "kernel = 'blocks' does not take this problem: the plain values are not real");
}

TEST(OperationPlans, SayHowBoxesAreMoved) {
  const auto expect = [](const Problem& problem, const std::string& begin,
                         std::vector<std::pair<std::string, BoxMoves BlockBoxes::*>> moves) {
    const Plan plan = make_plan(problem, CpuInfo{}, {1, ""});
    std::string expected = begin;
    for (const auto& [verb, which] : moves) {
      expected += ", " + verb + " by ";
      expected += describe((*plan.chosen.config.as<BlocksConfig>().boxes).*which);
    }
    EXPECT_EQ(describe(plan.chosen, plan.normal), expected);
  };
  expect(block_problem(f32, {600, 512}, {2048, 4}, q8_along_rows(512)),
         "f32 to q8_0, boxes of 64 by 512 elements", {{"read", &BlockBoxes::plain}});
  expect(block_problem(f32, {600, 512}, {2048, 4}, q8_along_rows(512, true)),
         "q8_0 to f32, boxes of 64 by 512 elements", {{"written", &BlockBoxes::plain}});
  expect(mx_rows(600, 512), "f32 to mxfp8_e4m3, boxes of 64 by 512 elements",
         {{"read", &BlockBoxes::plain}, {"written", &BlockBoxes::codes}});
  Blocks back = *mx_rows(60, 64).blocks;
  back.back = true;
  expect(block_problem(f32, {60, 64}, {256, 4}, back),
         "mxfp8_e4m3 to f32, boxes of 60 by 64 elements",
         {{"read", &BlockBoxes::codes}, {"written", &BlockBoxes::plain}});
  expect(mx_both(600, 640), "f32 to mxfp8_e4m3 along two modes, boxes of 128 by 128 elements",
         {{"read", &BlockBoxes::plain},
          {"written", &BlockBoxes::codes},
          {"transposed", &BlockBoxes::transposed},
          {"written", &BlockBoxes::second_codes}});
}

// Whole boxes and smaller ones, for each thing that is moved.
TEST(OperationPlans, HoldThePlansOfTheirBoxes) {
  const CpuInfo cpu;
  const Plan plan = make_plan(mx_both(301, 515), cpu, {1, ""});
  const BlockBoxes& boxes = *plan.chosen.config.as<BlocksConfig>().boxes;
  const BoxGrid grid = block_grid(boxes.extent, plan.normal);
  EXPECT_EQ(boxes.extent, (Extents{128, 128}));
  EXPECT_EQ(grid.count, 3 * 5);
  ASSERT_EQ(grid.shapes(), 4);
  std::int64_t elements = 0;
  const BoxMoves* lists[] = {&boxes.plain, &boxes.codes, &boxes.transposed, &boxes.second_codes};
  for (const BoxMoves* moves : lists) ASSERT_EQ(moves->of_shape.size(), 4U);
  for (std::int64_t i = 0; i < grid.count; ++i) {
    const BoxGrid::Box box = grid.box(plan.normal, i);
    const auto shape = static_cast<std::size_t>(box.shape);
    const std::int64_t count = box.count[0] * box.count[1];
    const auto moved = [&](const BoxMoves& moves) {
      const Problem& normal = moves.of_shape[shape].normal;
      return normal.bytes();
    };
    const auto filled = [](std::int64_t length) { return (length + 31) / 32 * 32; };
    EXPECT_EQ(moved(boxes.plain), 4 * count);
    EXPECT_EQ(moved(boxes.transposed), 4 * count);
    EXPECT_EQ(moved(boxes.codes), box.count[0] * filled(box.count[1]));
    EXPECT_EQ(moved(boxes.second_codes), filled(box.count[0]) * box.count[1]);
    elements += count;
  }
  EXPECT_EQ(elements, 301 * 515);
  const std::string text = explain(plan);
  for (const BoxMoves* moves : lists) {
    for (const BoxMove& move : moves->of_shape) {
      EXPECT_NE(text.find(to_string(move.normal) + " by "), std::string::npos);
    }
  }
  EXPECT_EQ(plan, make_plan(plan.problem, cpu, {1, ""}));
  EXPECT_FALSE(plan.chosen == make_plan(mx_both(301, 516), cpu, {1, ""}).chosen);
}

TEST(OperationPlans, BlocksOfTheLastBoxAreWhole) {
  const Plan plan = make_plan(mx_rows(5, 515), CpuInfo{}, {1, ""});
  const BlockBoxes& boxes = *plan.chosen.config.as<BlocksConfig>().boxes;
  EXPECT_EQ(boxes.extent, (Extents{5, 512}));
  EXPECT_EQ(boxes.codes.of_shape[1].normal.bytes(), 5 * 32);
  EXPECT_EQ(boxes.plain.of_shape[1].normal.bytes(), 5 * 3 * 4);
}

TEST(OperationPlans, ReductionsAreCutInPieces) {
  const auto config = [](const Extents& shape, const Extents& strides) {
    const Plan plan = make_plan(reduce_problem(f32, shape, strides), CpuInfo{}, {1, ""});
    return plan.chosen.config.as<AmaxConfig>();
  };
  EXPECT_EQ(config({1 << 20}, {4}), (AmaxConfig{64 << 10, 1}));
  EXPECT_EQ(config({1000, 100}, {800, 4}), (AmaxConfig{100, 655}));
  EXPECT_EQ(config({}, {}), (AmaxConfig{1, 1}));
  EXPECT_EQ(config({0, 4}, {16, 4}), (AmaxConfig{1, 1}));
}

TEST(OperationPlans, ThreadsForSoMuchWork) {
  const auto threads = [](const Problem& problem) {
    return make_plan(problem, CpuInfo{}, {64, ""}).threads;
  };
  EXPECT_EQ(threads(mx_rows(60, 640)), 1);
  EXPECT_EQ(threads(mx_rows(512, 640)), 5);
  EXPECT_EQ(threads(reduce_problem(f32, {1 << 20}, {4})), 8);
  EXPECT_EQ(threads(reduce_problem(ElementType(Kind::u8), {1 << 20}, {1})), 2);
}

TEST(OperationPlans, NothingToDoIsPlannedToo) {
  const Plan plan = make_plan(mx_rows(0, 64), CpuInfo{}, {1, ""});
  EXPECT_EQ(plan.kernel(), "blocks");
  EXPECT_EQ(describe(plan.chosen, plan.normal), "f32 to mxfp8_e4m3");
  EXPECT_EQ(make_plan(reduce_problem(f32, {0}, {4}), CpuInfo{}, {1, ""}).kernel(), "amax");
}

}  // namespace
}  // namespace cornerturn::plan
