// Swizzles in other words: each against what it does to every element.
#include "workshop/lab/convert.hpp"

#include <gtest/gtest.h>

#include "cornerturn/error.hpp"
#include "workshop/analyse/notation.hpp"

namespace cornerturn::lab {
namespace {

TEST(Convert, BytesDoToElementsWhatElementsDo) {
  for (const int bytes : {1, 2, 4, 8, 16}) {
    for (const AnySwizzle swizzle :
         {AnySwizzle{3, 2, 3}, AnySwizzle{2, 0, -4}, AnySwizzle{5, 0, 6}}) {
      const AnySwizzle of_bytes = to_bytes(swizzle, bytes);
      EXPECT_EQ(to_elements(of_bytes, bytes), swizzle);
      for (std::int64_t i = 0; i < 4096; ++i) EXPECT_EQ(of_bytes(i * bytes), swizzle(i) * bytes);
    }
  }
  EXPECT_THROW(to_elements({3, 1, 4}, 4), Error);
}

TEST(Convert, TritonMovesTheSameChunks) {
  int said = 0;
  for (const std::int64_t row : {16, 64, 128}) {
    for (int b = 1; b <= 4; ++b) {
      for (int m = 0; m <= 4; ++m) {
        for (int s = b; s <= 8; ++s) {
          const AnySwizzle swizzle = {b, m, s};
          const TritonAnswer answer = to_triton(swizzle, row);
          if (!answer.swizzle) {
            EXPECT_FALSE(answer.why_not.empty());
            continue;
          }
          ++said;
          const TritonSwizzle& t = *answer.swizzle;
          EXPECT_EQ(of_triton(t, row), swizzle);
          for (std::int64_t i = 0; i < 64 * row; ++i) {
            const std::int64_t phase = i / row / t.per_phase % t.max_phase;
            const std::int64_t column = (i % row / t.vec ^ phase) * t.vec + i % t.vec;
            ASSERT_EQ(swizzle(i), i / row * row + column) << to_string(swizzle) << " " << row;
          }
        }
      }
    }
  }
  EXPECT_GT(said, 50);
  EXPECT_THROW(of_triton({3, 1, 8}, 64), Error);
  EXPECT_THROW(of_triton({8, 1, 16}, 64), Error);
}

TEST(Convert, TheModesOfTma) {
  for (const char* name : {"none", "32B", "64B", "128B"}) {
    EXPECT_EQ(tma_mode(of_tma_mode(name)), name);
  }
  EXPECT_EQ(tma_mode(to_bytes({3, 2, 3}, 4)), "128B");
  EXPECT_EQ(tma_mode(to_bytes({3, 3, 3}, 2)), "128B");
  EXPECT_EQ(tma_mode(to_bytes({3, 2, 5}, 4)), std::nullopt);
  EXPECT_THROW(of_tma_mode("256B"), Error);
}

TEST(Convert, InAllWords) {
  EXPECT_EQ(parse_any_swizzle("tma:128B", 4, 0), (AnySwizzle{3, 4, 3}));
  EXPECT_EQ(parse_any_swizzle("Swizzle<3,2,3>", 4, 0), (AnySwizzle{3, 4, 3}));
  EXPECT_EQ(parse_any_swizzle("bytes:Swizzle<3,4,3>", 4, 0), (AnySwizzle{3, 4, 3}));
  EXPECT_EQ(parse_any_swizzle("triton:4,1,8", 4, 32), (AnySwizzle{3, 4, 3}));
  EXPECT_THROW(parse_any_swizzle("triton:4,1,8", 4, 0), Error);
  EXPECT_THROW(parse_any_swizzle("triton:4,1", 4, 32), Error);
  EXPECT_THROW(parse_any_swizzle("triton:4,x,8", 4, 32), NotationError);
  EXPECT_THROW(parse_any_swizzle("Swizzle<3,2>", 4, 32), NotationError);
  const Conversion recast = convert({3, 4, 3}, 2, 128);
  EXPECT_EQ(*recast.cute, (AnySwizzle{3, 3, 3}));
  EXPECT_EQ(*recast.triton.swizzle, (TritonSwizzle{8, 1, 8}));
  EXPECT_EQ(convert({3, 2, 5}, 16, 256).cute, std::nullopt);
  EXPECT_EQ(recast.to_text(),
            "2 B  CuTe Swizzle<3,3,3>    bytes Swizzle<3,4,3>    Triton vec=8, per_phase=1, "
            "max_phase=8  TMA 128B\n");
}

}  // namespace
}  // namespace cornerturn::lab
