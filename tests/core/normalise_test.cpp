#include "core/normalise.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <set>
#include <vector>

#include "core/validate.hpp"
#include "support/draws.hpp"
#include "support/random_problem.hpp"
#include "support/reference.hpp"

namespace cornerturn {
namespace {

Problem problem(int size, ModeList modes) {
  Problem result;
  result.src_type = ElementType::bytes(size);
  result.dst_type = result.src_type;
  result.modes = modes;
  return result;
}

TEST(Normalise, AContiguousCopyIsOneWideRun) {
  const Problem normal = normalise(problem(4, {{6, 160, 160}, {10, 16, 16}, {4, 4, 4}}));
  EXPECT_EQ(normal, problem(16, {{60, 16, 16}}));
}

TEST(Normalise, AMatrixStaysAMatrix) {
  EXPECT_EQ(normalise(problem(4, {{30, 4, 200}, {50, 120, 4}})),
            problem(4, {{30, 4, 200}, {50, 120, 4}}));
}

TEST(Normalise, OnesAreDropped) {
  EXPECT_EQ(normalise(problem(4, {{1, 7, 9}, {30, 4, 200}, {1, 0, 0}, {50, 120, 4}})),
            problem(4, {{30, 4, 200}, {50, 120, 4}}));
}

TEST(Normalise, ModesAreSortedByDestinationStride) {
  EXPECT_EQ(normalise(problem(4, {{50, 120, 4}, {30, 4, 200}})),
            problem(4, {{30, 4, 200}, {50, 120, 4}}));
}

TEST(Normalise, NegativeDestinationStridesAreFlipped) {
  Problem expected = problem(4, {{30, -4, 200}, {50, 120, 4}});
  expected.src_offset = 29 * 4;
  expected.dst_offset = -29 * 200;
  EXPECT_EQ(normalise(problem(4, {{30, 4, -200}, {50, 120, 4}})), expected);
}

TEST(Normalise, ASharedRunWidensTheElement) {
  // Rows of 24 bytes: 8 at a time, 3 of them.
  EXPECT_EQ(normalise(problem(2, {{5, 24, 48}, {2, 120, 24}, {12, 2, 2}})),
            problem(8, {{5, 24, 48}, {2, 120, 24}, {3, 8, 8}}));
  // Elements of 12 bytes are three words.
  EXPECT_EQ(normalise(problem(12, {{5, 12, 84}, {7, 60, 12}})),
            problem(4, {{5, 12, 84}, {7, 60, 12}, {3, 4, 4}}));
}

TEST(Normalise, AlignmentLimitsTheWidthWhereItMatters) {
  const Problem rows = problem(1, {{5, 20, 100}, {5, 100, 20}, {16, 1, 1}});
  EXPECT_EQ(normalise(rows).dst_type.size(), 16);
  EXPECT_EQ(normalise(rows, {true, 16, 16}).dst_type.size(), 4);
  EXPECT_EQ(normalise(rows, {true, 2, 16}).dst_type.size(), 2);
  Problem shifted = rows;
  shifted.src_offset = 6;
  EXPECT_EQ(normalise(shifted, {true, 16, 16}).dst_type.size(), 2);
  shifted.src_offset = 8;
  shifted.dst_offset = 1;
  EXPECT_EQ(normalise(shifted, {true, 16, 16}).dst_type.size(), 1);
}

TEST(Normalise, EmptyProblemsAreOneEmptyMode) {
  Problem empty = problem(4, {{3, 4, 4}, {0, 12, 12}});
  EXPECT_EQ(normalise(empty), problem(1, {{0, 1, 1}}));
  empty.src_offset = 8;
  empty.dst_offset = 12;
  EXPECT_EQ(normalise(empty), problem(1, {{0, 1, 1}}));
}

TEST(Normalise, ProblemsThatConvertKeepTheirTypes) {
  Problem convert = problem(4, {{30, 4, 100}, {1, 0, 0}, {50, 120, 2}});
  convert.src_type = ElementType(Kind::f32);
  convert.dst_type = ElementType(Kind::f16);
  const Problem normal = normalise(convert);
  EXPECT_EQ(normal.src_type, convert.src_type);
  EXPECT_EQ(normal.dst_type, convert.dst_type);
  EXPECT_EQ(normal.rank(), 2);
}

TEST(Normalise, VectorsFollowTheirModes) {
  Problem convert = problem(4, {{1, 0, 0}, {50, 120, -4}, {30, 4, 200}});
  convert.src_type = convert.dst_type = ElementType(Kind::f32);
  convert.scale = {true, 1};
  convert.bias = {true, 0, 1, 0};
  const Problem normal = normalise(convert);
  ASSERT_EQ(normal.rank(), 2);
  EXPECT_EQ(normal.scale, (ModeVector{true, 1, -1, 49}));  // sorted behind the other, flipped
  EXPECT_EQ(normal.bias, (ModeVector{true, -1, 1, 0}));    // of a mode that is gone
}

TEST(Normalise, ModesWithAVectorAreNotFused) {
  Problem convert = problem(4, {{2, 480, 480}, {3, 160, 160}, {10, 16, 16}, {4, 4, 4}});
  convert.src_type = convert.dst_type = ElementType(Kind::f32);
  convert.bias = {true, 2};
  const Problem normal = normalise(convert);
  ASSERT_EQ(normal.rank(), 3);
  EXPECT_EQ(normal.modes[0].extent, 6);
  EXPECT_EQ(normal.modes[1].extent, 10);
  EXPECT_EQ(normal.bias.mode, 1);
  convert.bias = {};
  convert.values.alpha = 2;
  EXPECT_EQ(normalise(convert).rank(), 1);
}

TEST(Normalise, ExplainsItself) {
  std::vector<std::string> steps;
  normalise(problem(4, {{6, 160, 160}, {1, 0, 0}, {10, 16, 16}, {4, 4, 4}}), {}, &steps);
  ASSERT_FALSE(steps.empty());
  EXPECT_EQ(steps.front(), "drop mode 1: its extent is 1");
  EXPECT_EQ(steps.back(), "take 16 bytes at a time instead of 4: both sides share runs of 960 B");
}

// All bytes that a problem moves, as (destination offset, source offset).
std::set<std::pair<std::int64_t, std::int64_t>> moved_bytes(const Problem& p) {
  std::set<std::pair<std::int64_t, std::int64_t>> moved;
  std::vector<std::int64_t> index(static_cast<std::size_t>(p.rank()), 0);
  if (p.elements() == 0) return moved;
  while (true) {
    std::int64_t src = p.src_offset;
    std::int64_t dst = p.dst_offset;
    for (int i = 0; i < p.rank(); ++i) {
      src += index[static_cast<std::size_t>(i)] * p.modes[i].src_stride;
      dst += index[static_cast<std::size_t>(i)] * p.modes[i].dst_stride;
    }
    for (int b = 0; b < p.src_type.size(); ++b) moved.insert({dst + b, src + b});
    int i = p.rank() - 1;
    for (; i >= 0; --i) {
      if (++index[static_cast<std::size_t>(i)] < p.modes[i].extent) break;
      index[static_cast<std::size_t>(i)] = 0;
    }
    if (i < 0) return moved;
  }
}

// Kernels for GPUs read rows forwards; a run of the destination is not broken for that.
TEST(Normalise, ReadsForwardsWhereAlignmentMatters) {
  Problem problem;
  problem.src_type = problem.dst_type = ElementType::bytes(4);
  problem.modes = {{100, -4, 400}, {100, 400, 4}};
  problem.src_offset = 396;
  const Problem normal = normalise(problem, {true, 16, 16});
  EXPECT_EQ(normal.modes[0], (Mode{100, 4, -400}));
  EXPECT_EQ(normal.src_offset, 0);
  EXPECT_EQ(normal.dst_offset, 99 * 400);
  EXPECT_EQ(normalise(problem).modes[0], (Mode{100, -4, 400}));

  problem.modes = {{100, -4, 20}, {5, 400, 4}};
  EXPECT_EQ(normalise(problem, {true, 16, 16}).modes[0], (Mode{100, -4, 20}));
}

TEST(Normalise, MovesTheSameBytesAndIsIdempotent) {
  test::RandomProblems random(3, {10, 2048, false});
  for (int i = 0; i < test::draws(3000); ++i) {
    const Problem asked = random.next();
    for (const bool aligned : {false, true}) {
      const Alignment alignment{aligned, 8, 16};
      const Problem normal = normalise(asked, alignment);
      ASSERT_EQ(normalise(normal, alignment), normal) << to_string(asked);
      ASSERT_EQ(moved_bytes(normal), moved_bytes(asked)) << to_string(asked);
      for (int k = 0; k + 1 < normal.rank(); ++k) {
        ASSERT_GE(std::abs(normal.modes[k].dst_stride), std::abs(normal.modes[k + 1].dst_stride))
            << to_string(asked);
        ASSERT_TRUE(aligned || normal.modes[k].dst_stride > 0) << to_string(asked);
      }
      if (aligned && normal.dst_type.size() > 8) FAIL() << to_string(normal);
    }
  }
}

}  // namespace
}  // namespace cornerturn
