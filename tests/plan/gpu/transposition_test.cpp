// Which problems in place are transpositions of whole matrices, and where their matrices begin.
#include "plan/gpu/transposition.hpp"

#include <gtest/gtest.h>

#include "core/problem.hpp"

namespace cornerturn::plan::gpu {
namespace {

// 5 x 7 elements of 3 words of 4 bytes, which become 7 x 5, and `batch` of them.
Problem problem_of(const ModeList& batch) {
  Problem problem;
  problem.src_type = problem.dst_type = ElementType::bytes(4);
  problem.modes = batch;
  problem.modes.push_back({7, 12, 60});
  problem.modes.push_back({5, 84, 12});
  problem.modes.push_back({3, 4, 4});
  return problem;
}

constexpr std::int64_t matrix = 5 * 7 * 12;

TEST(TranspositionInPlace, OneMatrix) {
  const auto t = transposition_of(problem_of({}));
  ASSERT_TRUE(t.has_value());
  EXPECT_EQ(t->rows, 5);
  EXPECT_EQ(t->columns, 7);
  EXPECT_EQ(t->element, 12);
  EXPECT_EQ(t->matrix_bytes(), matrix);
  EXPECT_EQ(t->matrices(), 1);
  EXPECT_TRUE(t->is_packed());
  EXPECT_EQ(t->granule(), 16);
  EXPECT_EQ(t->places().rank, 0);
}

TEST(TranspositionInPlace, MatricesOneAfterTheOther) {
  const auto t = transposition_of(problem_of({{9, matrix, matrix}}));
  ASSERT_TRUE(t.has_value());
  EXPECT_EQ(t->matrices(), 9);
  EXPECT_TRUE(t->is_packed());
  EXPECT_EQ(t->granule(), 4);  // of 420 bytes
}

TEST(TranspositionInPlace, MatricesWithGaps) {
  const auto gaps = transposition_of(problem_of({{9, matrix + 12, matrix + 12}}));
  ASSERT_TRUE(gaps.has_value());
  EXPECT_FALSE(gaps->is_packed());
  EXPECT_EQ(gaps->granule(), 16);
  const auto two = transposition_of(problem_of({{2, 8000, 8000}, {9, matrix, matrix}}));
  ASSERT_TRUE(two.has_value());
  EXPECT_FALSE(two->is_packed());
  EXPECT_EQ(two->matrices(), 18);
  EXPECT_EQ(two->granule(), 4);
  const kernels::Walk places = two->places();
  ASSERT_EQ(places.rank, 2);
  EXPECT_EQ(places.at(8).dst, 8 * matrix);  // the fastest first
  EXPECT_EQ(places.at(9).src, 8000);
  EXPECT_EQ(places.at(17).dst, 8 * matrix + 8000);
}

TEST(TranspositionInPlace, OtherProblemsAreNone) {
  Problem pitched = problem_of({});
  pitched.modes[1].src_stride = 88;  // rows with gaps
  EXPECT_FALSE(transposition_of(pitched).has_value());
  Problem three = problem_of({{2, matrix, matrix + 4}});
  EXPECT_FALSE(transposition_of(three).has_value());
  Problem copy = problem_of({});
  copy.modes[0].dst_stride = copy.modes[0].src_stride;
  EXPECT_FALSE(transposition_of(copy).has_value());
}

}  // namespace
}  // namespace cornerturn::plan::gpu
