// The kernels that exchange two modes of one extent within an array, in the emulator: results,
// races between the two tiles of a pair and between pairs, and bytes beside the array.
#include <set>

#include "in_place_support.hpp"
#include "kernels/swap.hpp"

namespace cornerturn::simt {
namespace {

TEST(SwapKernel, TrianglesHoldEveryPairOnce) {
  for (std::uint32_t tiles = 1; tiles <= 9; ++tiles) {
    const kernels::Triangle triangle(tiles);
    std::set<std::pair<std::uint32_t, std::uint32_t>> seen;
    for (std::int64_t n = 0; n < triangle.count(); ++n) {
      const auto pair = triangle.at(static_cast<std::uint32_t>(n));
      EXPECT_LE(pair.column, pair.row);
      EXPECT_LT(pair.row, tiles);
      seen.insert({pair.row, pair.column});
    }
    EXPECT_EQ(static_cast<std::int64_t>(seen.size()), triangle.count()) << tiles;
  }
}

TEST(SwapKernel, GroupsHoldEveryPairOnce) {
  for (std::uint32_t tiles = 1; tiles <= 13; ++tiles) {
    for (std::uint32_t side = 1; side <= tiles; ++side) {
      const kernels::TileGroups groups(tiles, side);
      std::set<std::pair<std::uint32_t, std::uint32_t>> seen;
      for (std::int64_t n = 0; n < groups.count(); ++n) {
        const auto pair = groups.at(static_cast<std::uint32_t>(n));
        EXPECT_LE(pair.column, pair.row);
        if (pair.row >= tiles) continue;
        EXPECT_TRUE(seen.insert({pair.row, pair.column}).second);
      }
      EXPECT_EQ(seen.size(), tiles * (tiles + 1) / 2) << tiles << " in groups of " << side;
    }
  }
}

TEST(SwapKernel, SquaresOfEveryElement) {
  for (const int element : {1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 256}) {
    for (const std::int64_t n : {2, 17, 31, 33, 64, 65, 96, 144}) {
      if (n * n * element > 600'000) continue;
      SCOPED_TRACE(testing::Message() << n << " x " << n << " of " << element);
      InPlaceArray array(element, {n, n});
      expect_permuted_in_place(array, {1, 0}, "swap");
      if (testing::Test::HasFailure()) return;
    }
  }
}

TEST(SwapKernel, VectorsCrossSeveralTiles) {
  for (const int element : {1, 2, 4, 8, 16}) {
    const std::int64_t n = element == 1 ? 272 : element <= 4 ? 136 : 68;
    SCOPED_TRACE(element);
    InPlaceArray array(element, {n, n});
    const auto asked = in_place::problem_in_place(array.view(), std::vector<int>{1, 0});
    const auto plan = plan_in_place_for(asked.problem, array.data());
    EXPECT_NE(plan::to_string(plan).find("16 B at a time"), std::string::npos);
    expect_permuted_in_place(array, {1, 0});
  }
}

TEST(SwapKernel, WideTilesOfMatricesThatReachFar) {
  for (const int element : {1, 2}) {
    const std::int64_t n = element == 1 ? 528 : 264;  // two whole tiles and a part, both ways
    SCOPED_TRACE(element);
    InPlaceArray array(element, {n, n}, {1 << 17, element});
    const auto asked = in_place::problem_in_place(array.view(), std::vector<int>{1, 0});
    const auto plan = plan_in_place_for(asked.problem, array.data());
    EXPECT_NE(plan::to_string(plan).find(element == 1 ? "256 x 256" : "128 x 128"),
              std::string::npos);
    expect_permuted_in_place(array, {1, 0}, "swap");
  }
}

TEST(SwapKernel, BatchesPitchesAndPhases) {
  for (const int element : {1, 2, 4, 8, 16}) {
    SCOPED_TRACE(element);
    const std::int64_t e = element;
    InPlaceArray batch(element, {3, 40, 40});
    expect_permuted_in_place(batch, {0, 2, 1}, "swap");
    InPlaceArray middle(element, {2, 18, 3, 18});
    expect_permuted_in_place(middle, {0, 3, 2, 1}, "swap");
    InPlaceArray pitched(element, {48, 48}, {64 * e, e});
    expect_permuted_in_place(pitched, {1, 0}, "swap");
    InPlaceArray odd_pitch(element, {37, 37}, {41 * e, e});
    expect_permuted_in_place(odd_pitch, {1, 0}, "swap");
    InPlaceArray apart(element, {2, 20, 20}, {3000 * e, 60 * e, 2 * e});
    expect_permuted_in_place(apart, {0, 2, 1}, "swap");
    InPlaceArray shifted(element, {64, 64}, {}, e < 16 ? e : 0);
    expect_permuted_in_place(shifted, {1, 0}, "swap");
  }
}

TEST(SwapKernel, TilesInSeveralGroups) {
  InPlaceArray odd(8, {691, 691});  // 22 tiles
  expect_permuted_in_place(odd, {1, 0}, "swap");
}

TEST(SwapKernel, RowsThatBeginAnywhere) {
  for (const int element : {1, 2, 4, 8}) {
    SCOPED_TRACE(element);
    const std::int64_t e = element, n = element == 1 ? 300 : 150;
    for (const std::int64_t gap : {0, 1, 2, 3}) {
      for (const std::int64_t start : {0, 1, 3}) {
        InPlaceArray array(element, {n, n}, {(n + gap) * e, e}, start * e);
        expect_permuted_in_place(array, {1, 0}, "swap");
      }
    }
    if (testing::Test::HasFailure()) return;
  }
}

TEST(SwapKernel, LongElementsAreTakenInParts) {
  InPlaceArray rows(4, {5, 5, 700});  // 2800 bytes stay together
  expect_permuted_in_place(rows, {1, 0, 2}, "swap");
  InPlaceArray odd(1, {18, 18, 67});
  expect_permuted_in_place(odd, {1, 0, 2}, "swap");
}

TEST(SwapKernel, RacesBetweenTilesWouldBeSeen) {
  // A pair that is written before both of its tiles are read: what the barrier prevents.
  std::vector<std::uint32_t> array = numbered<std::uint32_t>(64);
  Emulator emulator;
  emulator.update("array", array.data(), 256);
  emulator.launch("unordered", Mode::recording, {{1, 1, 1}, {64, 1, 1}, 0}, [&](auto& ctx) {
    const int t = ctx.thread_index();
    const std::uint32_t v = ctx.load(array.data() + t);
    ctx.store(array.data() + (63 - t), v);
  });
  ASSERT_FALSE(emulator.findings().empty());
  EXPECT_EQ(emulator.findings()[0].kind, FindingKind::race);
}

}  // namespace
}  // namespace cornerturn::simt
