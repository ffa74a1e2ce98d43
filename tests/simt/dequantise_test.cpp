// The kernel that makes matrices of blocks of 32, in the emulator, and what it leaves to the kernel
// for any layout.
#include "support/stacks_of_blocks.hpp"

#include "run_blocks.hpp"
#include "support/dequantised_tiles.hpp"

namespace cornerturn::simt {
namespace {

using values::BlockFormat;

TEST(Dequantise, Stacks) {
  test::for_stacks_of_lines([](const test::StackOfLines& stack) {
    if (testing::Test::HasFailure()) return;
    test::AnyBlocksCase c = test::stack_of_lines(stack);
    SCOPED_TRACE(c.text());
    Memory plain(c.plain.bytes), values(c.values.bytes), scales(c.scales.bytes);
    // What lies before the first line may not be read.
    Memory lines = values;
    lines.at = values.at + c.values.first;
    lines.size -= static_cast<std::size_t>(c.values.first);
    const Buffers buffers = c.buffers(true, plain.at, values.at, scales.at);
    const plan::Plan plan = plan_for(c.problem(true), buffers, "dequantise");
    EXPECT_EQ(plan.kernel(), "dequantise");
    run(plan, buffers, {&lines, &scales}, {&plain});
    test::dequantise_obviously(c);
    EXPECT_TRUE(plain.bytes() == c.plain.bytes);
  });
}

// The lines from last to first, and scales that lie as a matrix of the other order.
TEST(Dequantise, StridesOfAnyKind) {
  for (const bool turned : {false, true}) {
    for (const BlockFormat format : {BlockFormat::q8_0, BlockFormat::mxfp8_e4m3}) {
      test::AnyBlocksCase c =
          test::stack_of_lines({Kind::bf16, format, turned, 1, 200, 512, 0, 48});
      c.values.first = c.values.strides[1] * (c.shape[1] - 1);
      c.values.strides[1] *= -1;
      c.scales.strides = {1, 1, c.shape[1]};
      SCOPED_TRACE(c.text());
      Memory plain(c.plain.bytes), values(c.values.bytes), scales(c.scales.bytes);
      const Buffers buffers = c.buffers(true, plain.at, values.at, scales.at);
      const plan::Plan plan = plan_for(c.problem(true), buffers, "dequantise");
      EXPECT_EQ(plan.kernel(), "dequantise");
      run(plan, buffers, {&values, &scales}, {&plain});
      test::dequantise_obviously(c);
      EXPECT_TRUE(plain.bytes() == c.plain.bytes);
    }
  }
}

// Whole tiles whose lowest line begins within a vector, before which nothing may be read: it is the
// first line, or the last.
TEST(Dequantise, WholeTilesAtTheBeginOfMemory) {
  for (const bool turned : {false, true}) {
    for (const BlockFormat format : {BlockFormat::q8_0, BlockFormat::mxfp8_e4m3}) {
      for (const bool backwards : {false, true}) {
        test::AnyBlocksCase c =
            test::stack_of_lines({Kind::bf16, format, turned, 1, 128, 256, 8, 8});
        const std::int64_t before = c.values.first;
        if (backwards) {
          c.values.first += c.values.strides[1] * (c.shape[1] - 1);
          c.values.strides[1] *= -1;
        }
        SCOPED_TRACE(c.text());
        Memory plain(c.plain.bytes), values(c.values.bytes), scales(c.scales.bytes);
        Memory lines = values;
        lines.at = values.at + before;
        lines.size -= static_cast<std::size_t>(before);
        const Buffers buffers = c.buffers(true, plain.at, values.at, scales.at);
        const plan::Plan plan = plan_for(c.problem(true), buffers, "dequantise");
        run(plan, buffers, {&lines, &scales}, {&plain});
        test::dequantise_obviously(c);
        EXPECT_TRUE(plain.bytes() == c.plain.bytes);
      }
    }
  }
}

TEST(Dequantise, EveryFormatAndLayout) {
  std::mt19937 random(4);
  for (unsigned i = 0; i < 120 && !HasFailure(); ++i) {
    const test::DequantisedTiles tiles(test::random_dequantised_case(random, 300), i);
    SCOPED_TRACE(tiles.c.text());
    const Memory plain(tiles.before), values(tiles.blocks.values), scales(tiles.blocks.scales);
    const Buffers buffers = tiles.buffers(plain.at, values.at, scales.at);
    const plan::Plan plan = plan_for(tiles.problem, buffers, "dequantise");
    run(plan, buffers, {&values, &scales}, {&plain});
    const std::vector<std::byte> got = plain.bytes();
    const auto wrong = std::mismatch(got.begin(), got.end(), tiles.after.begin()).first;
    EXPECT_TRUE(wrong == got.end()) << "they differ first at " << wrong - got.begin();
  }
}

TEST(Dequantise, WhatItDoesNotTake) {
  const auto kernel = [](const test::AnyBlocksCase& c) {
    Memory plain(c.plain.bytes), values(c.values.bytes), scales(c.scales.bytes);
    return plan_for(c.problem(true), c.buffers(true, plain.at, values.at, scales.at)).kernel();
  };
  const test::AnyBlocksCase taken =
      test::stack_of_lines({Kind::f32, BlockFormat::mxfp8_e4m3, true, 2, 64, 64, 0, 0});
  EXPECT_EQ(kernel(taken), "dequantise");
  test::AnyBlocksCase c = taken;
  c.plain.first = 4;
  EXPECT_EQ(kernel(c), "blocks") << "a destination at no multiple of 16";
  c = taken;
  c.plain.strides[2] -= 4;
  EXPECT_EQ(kernel(c), "blocks") << "rows at no multiples of 16";
  c = taken;
  c.values.first = 4;
  EXPECT_EQ(kernel(c), "blocks") << "values at no multiple of 8";
  c = taken;
  c.values.strides = {64 * 64, 1, 64};
  EXPECT_EQ(kernel(c), "blocks") << "values of a line that are no neighbours";
  c = test::stack_of_lines({Kind::f32, BlockFormat::q8_0, false, 1, 64, 64, 1, 0});
  EXPECT_EQ(kernel(c), "blocks") << "blocks of q8_0 at odd addresses";
  c = test::stack_of_lines({Kind::f64, BlockFormat::q8_0, false, 1, 64, 64, 0, 0});
  EXPECT_EQ(kernel(c), "blocks") << "another type";
}

}  // namespace
}  // namespace cornerturn::simt
