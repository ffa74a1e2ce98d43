// Plans for problems that are no moves: which kernel takes what, and what the others say.
#include <gtest/gtest.h>

#include <string>

#include "cornerturn/error.hpp"
#include "plan/gpu/amax.hpp"
#include "plan/gpu/device_files.hpp"
#include "plan/planner.hpp"
#include "plan/winners.hpp"
#include "support/blocks.hpp"
#include "support/stacks_of_blocks.hpp"
#include "support/tiles_of_blocks.hpp"

namespace cornerturn::plan::gpu {
namespace {

constexpr BlockRule q8{};
constexpr BlockRule mx{BlockFormat::mxfp8_e4m3};

Problem matrix(const BlockRule& rule, std::int64_t rows, std::int64_t cols, bool along_rows = true,
               bool along_cols = false, Kind kind = Kind::f32) {
  const std::int64_t pitch = cols * ElementType(kind).size();
  return test::matrix_problem(kind, rule, rows, cols, pitch, along_rows, along_cols);
}

Problem move() {
  Problem problem;
  problem.src_type = problem.dst_type = ElementType::bytes(4);
  problem.modes = {{1000, 4, 4000}, {1000, 4000, 4}};
  return problem;
}

Plan plan_of(const Problem& problem, const std::string& kernel = {},
             const Alignment& alignment = {}) {
  return make_plan(problem, device_named("h200"), {1, kernel, alignment});
}

// What forcing the kernel is refused with.
std::string refusal(const Problem& problem, const std::string& kernel,
                    const Alignment& alignment = {}) {
  try {
    plan_of(problem, kernel, alignment);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

void expect_refusal(const Problem& problem, const std::string& kernel, const std::string& rule,
                    const Alignment& alignment = {}) {
  EXPECT_EQ(refusal(problem, kernel, alignment),
            "kernel = '" + kernel + "' does not take this problem on NVIDIA H200: " + rule);
}

TEST(GpuOperations, EveryKernelRefusesWhatItIsNotFor) {
  Problem conversion = move();
  conversion.src_type = ElementType(Kind::f32);
  conversion.dst_type = ElementType(Kind::i32);
  test::AnyBlocksCase stack = test::stack_of_lines({});
  const struct {
    Problem problem;
    std::string takers;  // of its operation
    const char* rule;
  } cases[] = {
      {move(), "copy rows structures tile skew fine pack list_rows pages gather repeat",
       "values are only moved"},
      {conversion, "copy rows structures tile skew pack list_rows pages gather",
       "values are converted"},
      {matrix(q8, 64, 64), "quantise blocks", "values are quantised"},
      {stack.problem(true), "dequantise blocks", "values are dequantised"},
      {reduce_problem(ElementType(Kind::f32), {64}, {4}), "amax",
       "values are reduced to one number"},
  };
  for (const auto& one : cases) {
    const Plan plan = plan_of(one.problem);
    for (const Row& row : gpu_registry()) {
      const char* rule = why_not(row, plan.normal, plan.machine);
      const bool refuses_operation = rule != nullptr && std::string(rule) == one.rule;
      const bool takes =
          (" " + one.takers + " ").find(" " + std::string(row.name) + " ") != std::string::npos;
      EXPECT_EQ(refuses_operation, !takes) << row.name << ": " << to_string(one.problem);
    }
  }
  expect_refusal(matrix(q8, 64, 64), "tile", "values are quantised");
  expect_refusal(move(), "quantise", "values are only moved");
}

TEST(GpuOperations, QuantiseSaysWhatItDoesNotTake) {
  const auto refused = [](const Problem& problem, const char* rule) {
    expect_refusal(problem, "quantise", rule);
    EXPECT_EQ(plan_of(problem).kernel(), "blocks") << rule;
  };
  refused(matrix(mx, 64, 96, true, false, Kind::f64), "the values are not f32, f16 or bf16");
  refused(matrix(q8, 64, 80), "rows or columns are no multiples of 32");
  refused(matrix(q8, 33, 64), "rows or columns are no multiples of 32");
  refused(test::matrix_problem(Kind::f32, mx, 64, 82, 336, true, false),
          "rows are not whole multiples of 16 B");
  refused(test::matrix_problem(Kind::f32, mx, 64, 64, 260, true, false),
          "rows do not begin at multiples of 16 B");
  refused(matrix(q8, 64, 64, true, true), "q8_0 along both modes");
  Problem apart = matrix(mx, 64, 64);
  for (Mode& mode : apart.modes) mode.src_stride *= 4;
  refused(apart, "the values of a row are not next to each other");
}

TEST(GpuOperations, TilesTakeFormatsThatBlocksDoNot) {
  const auto quantises = [](const Problem& problem) {
    return plan_of(problem, "quantise").kernel() == "quantise";
  };
  EXPECT_TRUE(quantises(matrix(mx, 64, 96)));
  EXPECT_TRUE(quantises(matrix(mx, 33, 80)));
  const auto problem = [](test::TileCase c) { return test::QuantisedTiles(c).problem; };
  test::TileCase c{.format = BlockFormat::fp8_128x128, .rows = 200, .cols = 136};
  EXPECT_TRUE(quantises(problem(c)));
  EXPECT_EQ(plan_of(problem(c)).kernel(), "quantise");
  c.format = BlockFormat::mxfp8_32x32;
  c.rule = BlockScale::floor;
  EXPECT_TRUE(quantises(problem(c)));
  const auto refused = [](const Problem& one, const char* rule) {
    expect_refusal(one, "quantise", rule);
  };
  const auto change = [&](const auto& of_blocks) {
    Problem changed = problem(c);
    Blocks blocks = *changed.blocks;
    of_blocks(blocks);
    changed.blocks = std::make_shared<const Blocks>(blocks);
    return changed;
  };
  refused(change([](Blocks& b) { b.rule.rounding = Rounding::stochastic; }),
          "values are rounded stochastically");
  refused(change([](Blocks& b) { b.first.order = ScaleOrder::tiles_128x4; }),
          "scales of squares in fours or tiles");
  refused(change([](Blocks& b) { b.first.value_strides[1] += 8; }),
          "lines of the result do not begin at multiples of 16 B");
  refused(change([](Blocks& b) { b.first.value_strides[2] = 2; }),
          "the values of a line are not next to each other");
  for (const BlockFormat format : {BlockFormat::nvfp4, BlockFormat::mxfp4}) {
    test::TileCase four_bits{.format = format, .rows = 200, .cols = 136};
    four_bits.rule = four_bits.row().standard_rule();
    four_bits.along_cols = true;
    EXPECT_EQ(plan_of(problem(four_bits)).kernel(), "quantise");
  }
  refused(change([](Blocks& b) { b.rule.format = BlockFormat::q4_0; }),
          "the blocks are not floats of 8 or 4 bits beside their scales");
}

TEST(GpuOperations, AddressesDecideAsWell) {
  const Problem rows = matrix(mx, 8192, 8192), both = matrix(mx, 8192, 8192, true, true);
  const auto kernel = [](const Problem& problem, const Alignment& alignment) {
    return std::string(plan_of(problem, {}, alignment).kernel());
  };
  EXPECT_EQ(kernel(rows, {true, 16, 16, 4, 1, 1}), "quantise");
  EXPECT_EQ(kernel(rows, {true, 8, 16, 4, 1, 1}), "blocks");
  EXPECT_EQ(kernel(rows, {true, 16, 8, 4, 1, 1}), "blocks");
  EXPECT_EQ(kernel(rows, {true, 16, 16, 2, 1, 1}), "blocks");
  EXPECT_EQ(kernel(both, {true, 16, 16, 4, 16, 4}), "quantise");
  EXPECT_EQ(kernel(both, {true, 16, 16, 4, 8, 4}), "blocks");
  EXPECT_EQ(kernel(both, {true, 16, 16, 4, 16, 2}), "blocks");
  EXPECT_EQ(kernel(matrix(q8, 8192, 8192), {true, 16, 2, 1, 1, 1}), "quantise");
  expect_refusal(rows, "quantise", no_config, {true, 8, 16});
  EXPECT_NE(explain(plan_of(rows, {}, {true, 8, 16})).find(no_config), std::string::npos);
  const Problem back = test::stack_of_lines({.format = BlockFormat::mxfp8_e4m3}).problem(true);
  EXPECT_EQ(kernel(back, {true, 8, 16}), "dequantise");
  EXPECT_EQ(kernel(back, {true, 4, 16}), "blocks");
  EXPECT_EQ(kernel(back, {true, 16, 8}), "blocks");
}

// The kernels for matrices are faster than that for any layout, but for small matrices along one
// mode, which take it more time to begin than to quantise.
TEST(GpuOperations, MatricesHaveKernelsOfTheirOwn) {
  for (const DeviceInfo& device : known_devices()) {
    for (const Kind kind : {Kind::f32, Kind::f16, Kind::bf16}) {
      for (const BlockRule& rule : {q8, mx}) {
        for (const std::int64_t rows : {32, 96, 1024, 4128, 32768}) {
          for (const std::int64_t cols : {32, 160, 1056, 4096, 16384}) {
            for (const bool columns : {false, true}) {
              const Problem problem = matrix(rule, rows, cols, !columns, columns, kind);
              const Plan plan = make_plan(problem, device);
              if (rows * cols >= std::int64_t{1} << 24) {
                EXPECT_EQ(plan.kernel(), "quantise") << to_string(problem) << " on " << device.name;
              }
              const Problem back =
                  block_problem(ElementType(kind), {rows, cols},
                                {problem.modes[0].src_stride, problem.modes[1].src_stride},
                                {rule, true, problem.blocks->first, {}});
              EXPECT_EQ(make_plan(back, device).kernel(), "dequantise") << to_string(back);
            }
            const Problem both = matrix(mx, rows, cols, true, true, kind);
            EXPECT_EQ(make_plan(both, device).kernel(), "quantise") << to_string(both);
          }
        }
      }
    }
  }
}

TEST(GpuOperations, TwoResultsAreOneLaunchOrTwo) {
  const Plan one = plan_of(matrix(mx, 256, 256, true, true));
  EXPECT_EQ(one.kernel(), "quantise");
  EXPECT_EQ(one.ready.then, nullptr);
  EXPECT_EQ(to_json(one).find("\"then\""), std::string::npos);
  const Plan two = plan_of(matrix(mx, 256, 256, true, true), "blocks");
  ASSERT_NE(two.ready.then, nullptr);
  EXPECT_EQ(two.ready.then->then, nullptr);
  EXPECT_NE(explain(two).find("\nthen        "), std::string::npos) << explain(two);
  EXPECT_NE(to_json(two).find("\"then\""), std::string::npos);
  EXPECT_NE(describe(two.chosen, two.normal).find("; then "), std::string::npos);
  EXPECT_GT(two.predicted_seconds(), one.predicted_seconds());
}

TEST(GpuOperations, WithoutElementsNothingIsLaunched) {
  for (const Problem& problem : {matrix(q8, 0, 64), matrix(mx, 64, 0),
                                 reduce_problem(ElementType(Kind::f32), {0, 3}, {4, 4})}) {
    EXPECT_EQ(plan_of(problem).kernel(), "gather") << to_string(problem);
  }
}

TEST(GpuOperations, WhatNoKernelTakesIsSaid) {
  const auto message = [](const Problem& problem) { return refusal(problem, {}); };
  Blocks twice = *matrix(mx, 64, 64, true, true).blocks;
  twice.back = true;
  const std::string text =
      message(block_problem(ElementType(Kind::f32), {64, 64}, {256, 4}, twice));
  EXPECT_NE(text.find("dequantise: blocks along two modes are made, not read; blocks: "),
            std::string::npos)
      << text;
  EXPECT_NE(message(reduce_problem(ElementType(Kind::c64), {64}, {8})).find("not real"),
            std::string::npos);
  EXPECT_NE(
      message(matrix(mx, 64, 64, true, false, Kind::c64)).find("blocks: the values are not real"),
      std::string::npos);
}

TEST(GpuOperations, ReductionsReadRowsInVectors) {
  const auto config = [](const Problem& problem, std::int64_t alignment) {
    return plan_of(problem, {}, {true, alignment}).chosen.config.as<AmaxConfig>();
  };
  const ElementType f32(Kind::f32);
  EXPECT_EQ(config(reduce_problem(f32, {1000}, {4}), 16), (AmaxConfig{true, 0}));
  EXPECT_EQ(config(reduce_problem(f32, {1000}, {4}), 4), (AmaxConfig{true, 12}));
  EXPECT_EQ(config(reduce_problem(f32, {10, 1000}, {4008, 4}), 16), (AmaxConfig{true, 8}));
  EXPECT_EQ(config(reduce_problem(f32, {1000}, {8}), 16), (AmaxConfig{}));
  EXPECT_EQ(config(reduce_problem(f32, {100, 15}, {80, 4}), 16), (AmaxConfig{}));
}

TEST(GpuOperations, WinnersAreRemembered) {
  Plan plan = plan_of(matrix(mx, 64, 96));
  ASSERT_EQ(plan.candidates.size(), 2U);
  const std::string estimated(plan.kernel());
  const bool first = plan.candidates[0].row->name != estimated;
  plan.choose(Candidate(plan.candidates[first ? 0 : 1]), Choice::measured);
  EXPECT_NE(plan.kernel(), estimated);
  Winners winners, read;
  winners.remember(plan);
  read.parse(winners.to_text(), "test");
  Plan again = plan_of(matrix(mx, 64, 96)), other = plan_of(matrix(mx, 64, 96, false, true));
  read.apply(again);
  read.apply(other);
  EXPECT_EQ(again.chosen, plan.chosen);
  EXPECT_EQ(again.choice, Choice::remembered);
  EXPECT_EQ(other.choice, Choice::estimated);
}

}  // namespace
}  // namespace cornerturn::plan::gpu
